package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// spmm generates rows of a sparse times a dense matrix. A row of dst is built
// tile by tile: as many columns as there are registers for are accumulated
// while the row's entries go by, so that a call writes dst once.
//
// Row i has the entries from[i] to to[i]−1. Entry k has the value at val + k·valStep bytes.
// If add is not 0, the row of dst is the first term of its sum. With gather it is
// dst = A·X[ids]. Far is for an X larger than the caches: rows of it are prefetched some
// entries before they are added. The result is false at the first column outside [0, cols)
// or offset outside [0, nnz].
func spmm(v vectors, gather, far bool) {
	name, ids := "spmm", ""
	if gather {
		name, ids = "spmmGather", "ids *int32, "
	}
	if far {
		name += "Far"
	}
	function(name+v.suffix, "func(dst *float32, from *int64, to *int64, add int, rows int, idx *int32, nnz int, val *float32, valStep int, "+ids+"x *float32, cols int, width int) bool")

	dst := argument("dst")
	step := argument("valStep")
	cols := argument("cols")
	stride := argument("width")
	s := spmmState{v: v, dst: dst, step: step, cols: cols, stride: stride}
	if gather {
		s.ids = argument("ids")
	}

	if far {
		// Entries before this one have another that far ahead.
		s.limit = AllocLocal(8)
		limit, nnz := argument("idx"), argument("nnz")
		LEAQ(Mem{Base: limit, Index: nnz, Scale: 4, Disp: -4 * farAhead}, limit)
		MOVQ(limit, s.limit)
		s.far = true
	}

	// The last vector of a row has ((width−1) mod lanes) + 1 elements.
	last := GP64()
	LEAQ(Mem{Base: stride, Disp: -1}, last)
	ANDQ(I32(v.lanes-1), last)
	INCQ(last)
	s.last = v.maskOf(last)
	SHLQ(U8(2), stride)

	Label("row")
	CMPQ(param("rows"), I8(0))
	JEQ(LabelRef("done"))
	offset, k := GP64(), GP64()
	DECQ(param("rows"))
	s.first, s.end, s.firstValue = GP64(), GP64(), GP64()
	MOVQ(param("from"), offset)
	MOVQ(Mem{Base: offset}, k)
	ADDQ(I8(8), param("from"))
	MOVQ(param("to"), offset)
	MOVQ(Mem{Base: offset}, s.end)
	ADDQ(I8(8), param("to"))
	CMPQ(s.end, param("nnz"))
	JHI(LabelRef("bad"))
	CMPQ(k, s.end)
	JHI(LabelRef("bad"))
	JNE(LabelRef("some"))
	CMPQ(param("add"), I8(0))
	JEQ(LabelRef("some"))
	ADDQ(stride, dst)
	JMP(LabelRef("row"))
	Label("some")
	MOVQ(param("idx"), s.first)
	LEAQ(Mem{Base: s.first, Index: s.end, Scale: 4}, s.end)
	LEAQ(Mem{Base: s.first, Index: k, Scale: 4}, s.first)
	IMULQ(step, k)
	MOVQ(param("val"), s.firstValue)
	ADDQ(k, s.firstValue)
	s.x, s.left = GP64(), GP64()
	MOVQ(param("x"), s.x)
	MOVQ(param("width"), s.left)

	widest, tail := 16, 4
	if v.lanes == 8 {
		widest, tail = 8, 8
	}
	s.acc = v.regs(widest)
	for n := widest; n >= tail; n /= 2 {
		Label(fmt.Sprintf("tile%d", n))
		CMPQ(s.left, I32(n*v.lanes))
		JLT(LabelRef(fmt.Sprintf("below%d", n)))
		s.tile(n, false)
		SUBQ(I32(n*v.lanes), s.left)
		if n == widest {
			JMP(LabelRef(fmt.Sprintf("tile%d", n)))
		}
		Label(fmt.Sprintf("below%d", n))
	}
	TESTQ(s.left, s.left)
	JEQ(LabelRef("row"))
	for n := 1; n < tail; n++ {
		CMPQ(s.left, I32(n*v.lanes))
		JLE(LabelRef(fmt.Sprintf("tail%d", n)))
	}
	for n := tail; n >= 1; n-- {
		Label(fmt.Sprintf("tail%d", n))
		s.tile(n, true)
		JMP(LabelRef("row"))
	}

	Label("done")
	result := GP8()
	MOVB(U8(1), result)
	Store(result, ReturnIndex(0))
	end()
	Label("bad")
	MOVB(U8(0), result)
	Store(result, ReturnIndex(0))
	end()
}

type spmmState struct {
	v                      vectors
	dst, step, cols, ids   reg.Register
	stride                 reg.Register // bytes between rows of x
	first, end, firstValue reg.Register // the row's columns and values
	x                      reg.Register // column of x where the tile starts
	left                   reg.Register // elements of the row not done
	last                   mask
	acc                    []reg.VecVirtual
	far                    bool
	limit                  Mem
}

// farAhead is how many entries ahead rows are prefetched.
const farAhead = 16

// tile generates n vectors of a row, the last one masked if it is the tail.
func (s *spmmState) tile(n int, tail bool) {
	v := s.v
	loop, store := fmt.Sprintf("entry%d_%t", n, tail), fmt.Sprintf("store%d_%t", n, tail)
	acc := s.acc[:n]
	fresh, start := fmt.Sprintf("fresh%d_%t", n, tail), fmt.Sprintf("start%d_%t", n, tail)
	CMPQ(param("add"), I8(0))
	JEQ(LabelRef(fresh))
	for t, r := range acc {
		p := Mem{Base: s.dst, Disp: t * v.bytes()}
		if tail && t == n-1 {
			s.last.load(p, r)
		} else {
			VMOVUPS(p, r)
		}
	}
	JMP(LabelRef(start))
	Label(fresh)
	for _, r := range acc {
		v.zero(r)
	}
	Label(start)
	at, value, j := GP64(), GP64(), GP64()
	MOVQ(s.first, at)
	MOVQ(s.firstValue, value)
	CMPQ(at, s.end)
	JCC(LabelRef(store))

	Label(loop)
	MOVL(Mem{Base: at}, j.As32())
	CMPQ(j, s.cols)
	JCC(LabelRef("bad"))
	if s.ids != nil {
		MOVL(Mem{Base: s.ids, Index: j, Scale: 4}, j.As32())
	}
	IMULQ(s.stride, j)
	a := v.reg()
	VBROADCASTSS(Mem{Base: value}, a)
	for t, r := range acc {
		p := Mem{Base: j, Index: s.x, Scale: 1, Disp: t * v.bytes()}
		switch {
		case !tail || t < n-1:
			VFMADD231PS(p, a, r)
		case v.lanes == 16:
			VFMADD231PS(p, a, s.last.r, r)
		default:
			b := v.reg()
			s.last.load(p, b)
			VFMADD231PS(b, a, r)
		}
	}
	if s.far {
		near := fmt.Sprintf("near%d_%t", n, tail)
		CMPQ(at, s.limit)
		JCC(LabelRef(near))
		MOVL(Mem{Base: at, Disp: 4 * farAhead}, j.As32())
		if s.ids != nil {
			CMPQ(j, s.cols)
			JCC(LabelRef(near))
			MOVL(Mem{Base: s.ids, Index: j, Scale: 4}, j.As32())
		}
		IMULQ(s.stride, j)
		for line := 0; line < n*v.bytes(); line += 64 {
			PREFETCHT1(Mem{Base: j, Index: s.x, Scale: 1, Disp: line})
		}
		Label(near)
	}
	ADDQ(I8(4), at)
	ADDQ(s.step, value)
	CMPQ(at, s.end)
	JCS(LabelRef(loop))

	Label(store)
	for t, r := range acc {
		p := Mem{Base: s.dst, Disp: t * v.bytes()}
		if tail && t == n-1 {
			s.last.store(r, p)
		} else {
			VMOVUPS(r, p)
		}
	}
	if tail {
		LEAQ(Mem{Base: s.dst, Index: s.left, Scale: 4}, s.dst)
	} else {
		ADDQ(I32(n*v.bytes()), s.dst)
		ADDQ(I32(n*v.bytes()), s.x)
	}
}

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// sgemm generates the inner loop of a matrix product: a tile of C of the given
// rows and vectors across is kept in registers while k goes by.
func sgemm(v vectors, rows, across int) {
	name := fmt.Sprintf("tile%dx%d%s", rows, across*v.lanes, v.suffix)
	TEXT(name, NOSPLIT, "func(c *float32, ldc int, rows int, cols int, a *float32, rowStep int, kStep int, b *float32, k int, alpha float32, beta float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s sets a tile C = alpha·A·B + beta·C of 1 to %d rows and %d to %d columns.", name, rows, (across-1)*v.lanes+1, across*v.lanes),
		fmt.Sprintf("A[i][p] is at a + i·rowStep + p·kStep elements and is read for all %d rows, B[p]", rows),
		fmt.Sprintf("at b + %d·p; rows of C are ldc apart. With beta = 0 C is not read.", across*v.lanes))
	b, k, kStep, rowStep := Load(Param("b"), GP64()), Load(Param("k"), GP64()), Load(Param("kStep"), GP64()), Load(Param("rowStep"), GP64())
	SHLQ(U8(2), kStep)
	SHLQ(U8(2), rowStep)

	// Addresses of the rows of A: base + {0, 1, 2, 3}·rowStep, a base for every
	// four rows (three where that divides better).
	per := 4
	if rows%4 != 0 {
		per = 3
	}
	bases := make([]Mem, rows/per)
	for i := range bases {
		r := GP64()
		if i == 0 {
			Load(Param("a"), r)
		} else {
			LEAQ(Mem{Base: bases[i-1].Base, Index: rowStep, Scale: 2}, r)
			if per == 4 {
				LEAQ(Mem{Base: r, Index: rowStep, Scale: 2}, r)
			} else {
				ADDQ(rowStep, r)
			}
		}
		bases[i] = Mem{Base: r}
	}
	threeSteps := GP64()
	if per == 4 {
		LEAQ(Mem{Base: rowStep, Index: rowStep, Scale: 2}, threeSteps)
	}
	at := func(row int) Mem {
		m := bases[row/per]
		switch row % per {
		case 1:
			m.Index, m.Scale = rowStep, 1
		case 2:
			m.Index, m.Scale = rowStep, 2
		case 3:
			m.Index, m.Scale = threeSteps, 1
		}
		return m
	}

	acc := v.regs(rows * across)
	for _, r := range acc {
		v.zero(r)
	}
	bs := v.regs(across)
	Label("k")
	for t, r := range bs {
		VMOVUPS(Mem{Base: b, Disp: t * v.bytes()}, r)
	}
	for i := range rows {
		a := v.reg()
		VBROADCASTSS(at(i), a)
		for t := range across {
			VFMADD231PS(bs[t], a, acc[i*across+t])
		}
	}
	for _, m := range bases {
		ADDQ(kStep, m.Base)
	}
	ADDQ(I32(across*v.bytes()), b)
	DECQ(k)
	JNE(LabelRef("k"))

	c, ldc, left := Load(Param("c"), GP64()), Load(Param("ldc"), GP64()), Load(Param("rows"), GP64())
	SHLQ(U8(2), ldc)
	alpha, beta := bs[0], v.reg()
	VBROADCASTSS(param("alpha"), alpha)
	VBROADCASTSS(param("beta"), beta)
	bits := GP32()
	MOVL(param("beta"), bits)
	ADDL(bits, bits) // drops the sign of zero

	// Masked stores are slow on some processors, so full tiles do without.
	epilogue := func(kind string, edge *mask) {
		old := v.reg()
		for i := range rows {
			fresh := fmt.Sprintf("%s%d", kind, i)
			row := acc[i*across : (i+1)*across]
			for _, r := range row {
				VMULPS(alpha, r, r)
			}
			TESTL(bits, bits)
			JEQ(LabelRef(fresh))
			for t, r := range row {
				p := Mem{Base: c, Disp: t * v.bytes()}
				if edge != nil && t == across-1 {
					edge.load(p, old)
					VFMADD231PS(old, beta, r)
				} else {
					VFMADD231PS(p, beta, r)
				}
			}
			Label(fresh)
			for t, r := range row {
				p := Mem{Base: c, Disp: t * v.bytes()}
				if edge != nil && t == across-1 {
					edge.store(r, p)
				} else {
					VMOVUPS(r, p)
				}
			}
			DECQ(left)
			JEQ(LabelRef("done"))
			ADDQ(ldc, c)
		}
	}
	last := GP64()
	Load(Param("cols"), last)
	if across > 1 {
		SUBQ(I32((across-1)*v.lanes), last)
	}
	CMPQ(last, I8(v.lanes))
	JNE(LabelRef("edge"))
	epilogue("full", nil)
	Label("edge")
	edge := v.maskOf(last)
	epilogue("masked", &edge)
	Label("done")
	VZEROUPPER()
	RET()
}

// packStrip generates a copy of k rows of up to two vectors, padded with zeros.
func packStrip(v vectors) {
	TEXT("packStrip"+v.suffix, NOSPLIT, "func(dst *float32, step int, src *float32, ld int, k int, width int)")
	Pragma("noescape")
	Doc("packStrip"+v.suffix+" copies k rows of width elements, ld apart, to rows of step elements, step",
		fmt.Sprintf("apart, padded with zeros; 1 ≤ width ≤ step ≤ %d. It stores whole vectors of %d: what", 2*v.lanes, v.lanes),
		"follows the last row is overwritten up to the end of its last vector.")
	dst, step, src, ld, k, width := Load(Param("dst"), GP64()), Load(Param("step"), GP64()), Load(Param("src"), GP64()), Load(Param("ld"), GP64()), Load(Param("k"), GP64()), Load(Param("width"), GP64())
	lanes, n, rest := GP64(), GP64(), GP64()
	MOVQ(I32(v.lanes), lanes)
	MOVQ(width, n)
	CMPQ(n, lanes)
	CMOVQGT(lanes, n)
	MOVQ(width, rest)
	SUBQ(n, rest)
	first, second := v.maskOf(n), v.maskOf(rest)
	SHLQ(U8(2), ld)
	SHLQ(U8(2), step)
	CMPQ(step, I8(v.bytes()))
	JGT(LabelRef("two"))
	x, y := v.reg(), v.reg()
	for _, label := range []string{"one", "two"} {
		Label(label)
		first.load(Mem{Base: src}, x)
		VMOVUPS(x, Mem{Base: dst})
		if label == "two" {
			second.load(Mem{Base: src, Disp: v.bytes()}, y)
			VMOVUPS(y, Mem{Base: dst, Disp: v.bytes()})
		}
		ADDQ(ld, src)
		ADDQ(step, dst)
		DECQ(k)
		JNE(LabelRef(label))
		VZEROUPPER()
		RET()
	}
}

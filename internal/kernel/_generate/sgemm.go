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
	last := GP64()
	Load(Param("cols"), last)
	if across > 1 {
		SUBQ(I32((across-1)*v.lanes), last)
	}
	edge := v.maskOf(last)
	alpha, beta := bs[0], v.reg()
	VBROADCASTSS(param("alpha"), alpha)
	VBROADCASTSS(param("beta"), beta)
	bits := GP32()
	MOVL(param("beta"), bits)
	ADDL(bits, bits) // drops the sign of zero
	old := v.reg()
	for i := range rows {
		for t := range across {
			VMULPS(alpha, acc[i*across+t], acc[i*across+t])
		}
		fresh := fmt.Sprintf("fresh%d", i)
		TESTL(bits, bits)
		JEQ(LabelRef(fresh))
		for t := range across {
			p := Mem{Base: c, Disp: t * v.bytes()}
			if t == across-1 {
				edge.load(p, old)
				VFMADD231PS(old, beta, acc[i*across+t])
			} else {
				VFMADD231PS(p, beta, acc[i*across+t])
			}
		}
		Label(fresh)
		for t := range across {
			p := Mem{Base: c, Disp: t * v.bytes()}
			if t == across-1 {
				edge.store(acc[i*across+t], p)
			} else {
				VMOVUPS(acc[i*across+t], p)
			}
		}
		DECQ(left)
		JEQ(LabelRef("done"))
		ADDQ(ldc, c)
	}
	Label("done")
	VZEROUPPER()
	RET()
}

// packStrip generates a copy of k rows of up to two vectors, padded with zeros.
func packStrip(v vectors) {
	TEXT("packStrip"+v.suffix, NOSPLIT, "func(dst *float32, step int, src *float32, ld int, k int, width int)")
	Pragma("noescape")
	Doc("packStrip"+v.suffix+" copies k rows of width elements, ld apart, to rows of step elements, step",
		fmt.Sprintf("apart, padded with zeros; 1 ≤ width ≤ step ≤ %d.", 2*v.lanes))
	dst, step, src, ld, k, width := Load(Param("dst"), GP64()), Load(Param("step"), GP64()), Load(Param("src"), GP64()), Load(Param("ld"), GP64()), Load(Param("k"), GP64()), Load(Param("width"), GP64())
	// Masks of both vectors: min(n, lanes) and max(n−lanes, 0) elements.
	masks := func(n Op) [2]mask {
		lanes, first, second := GP64(), GP64(), GP64()
		MOVQ(I32(v.lanes), lanes)
		MOVQ(n, first)
		CMPQ(first, lanes)
		CMOVQGT(lanes, first)
		MOVQ(n, second)
		SUBQ(first, second)
		return [2]mask{v.maskOf(first), v.maskOf(second)}
	}
	in, out := masks(width), masks(step)
	SHLQ(U8(2), ld)
	SHLQ(U8(2), step)
	first, second := v.reg(), v.reg()
	Label("row")
	in[0].load(Mem{Base: src}, first)
	in[1].load(Mem{Base: src, Disp: v.bytes()}, second)
	out[0].store(first, Mem{Base: dst})
	out[1].store(second, Mem{Base: dst, Disp: v.bytes()})
	ADDQ(ld, src)
	ADDQ(step, dst)
	DECQ(k)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

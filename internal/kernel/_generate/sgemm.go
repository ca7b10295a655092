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
	TEXT(name, NOSPLIT, "func(c *float32, ldc int, a *float32, rowStep int, kStep int, b *float32, k int, alpha float32, beta float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s sets the %d×%d tile C = alpha·A·B + beta·C. A[i][p] is at a + i·rowStep + p·kStep", name, rows, across*v.lanes),
		fmt.Sprintf("elements, B[p] at b + %d·p; rows of C are ldc apart. With beta = 0 C is not read.", across*v.lanes))
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

	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64())
	SHLQ(U8(2), ldc)
	alpha, beta := v.reg(), v.reg()
	VBROADCASTSS(param("alpha"), alpha)
	for _, r := range acc {
		VMULPS(alpha, r, r)
	}
	bits := GP32()
	MOVL(param("beta"), bits)
	ADDL(bits, bits) // drops the sign of zero
	JEQ(LabelRef("store"))
	VBROADCASTSS(param("beta"), beta)
	old := GP64()
	MOVQ(c, old)
	for i := range rows {
		for t := range across {
			VFMADD231PS(Mem{Base: old, Disp: t * v.bytes()}, beta, acc[i*across+t])
		}
		ADDQ(ldc, old)
	}
	Label("store")
	for i := range rows {
		for t := range across {
			VMOVUPS(acc[i*across+t], Mem{Base: c, Disp: t * v.bytes()})
		}
		ADDQ(ldc, c)
	}
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

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// headDots generates, for each head h, dst[h] = x_h·y_h: x and y hold one vector of width
// elements, a multiple of 16, for each head. xStep is the distance between the heads' vectors
// in x in bytes, so that 0 takes the same vector for all.
func headDots(v vectors) {
	function("headDots"+v.suffix, "func(dst, x *float32, xStep int, y *float32, heads int, width int)")
	dst, x, step, y := argument("dst"), argument("x"), argument("xStep"), argument("y")
	heads, width := argument("heads"), argument("width")
	left, at := GP64(), GP64()
	acc := v.regs(16 / v.lanes)
	Label("head")
	TESTQ(heads, heads)
	JEQ(LabelRef("done"))
	for _, r := range acc {
		v.zero(r)
	}
	MOVQ(width, left)
	MOVQ(x, at)
	Label("group")
	for t, r := range acc {
		a := v.reg()
		VMOVUPS(Mem{Base: at, Disp: t * v.bytes()}, a)
		VFMADD231PS(Mem{Base: y, Disp: t * v.bytes()}, a, r)
	}
	ADDQ(I8(64), at)
	ADDQ(I8(64), y)
	SUBQ(I8(16), left)
	JNE(LabelRef("group"))
	sum, other := YMM(), YMM()
	if v.lanes == 16 {
		VEXTRACTF64X4(U8(1), acc[0], other)
		VADDPS(acc[0].AsY(), other, sum)
	} else {
		VADDPS(acc[0], acc[1], sum)
	}
	VEXTRACTF128(U8(1), sum, other.AsX())
	VADDPS(sum.AsX(), other.AsX(), sum.AsX())
	VHADDPS(sum.AsX(), sum.AsX(), sum.AsX())
	VHADDPS(sum.AsX(), sum.AsX(), sum.AsX())
	VMOVSS(sum.AsX(), Mem{Base: dst})
	ADDQ(I8(4), dst)
	ADDQ(step, x)
	DECQ(heads)
	JMP(LabelRef("head"))
	Label("done")
	end()
}

// headSum generates, for each head h, y_h += scale·c[h]·x_h, for vectors as of headDots. A
// head whose c is 0 or less is left out, NaN is not. With a zero yStep all heads add to one
// vector, with a zero xStep all heads add the same one.
func headSum(v vectors) {
	function("headSum"+v.suffix, "func(y *float32, yStep int, c *float32, scale float32, x *float32, xStep int, heads int, width int)")
	y, yStep, c, x := argument("y"), argument("yStep"), argument("c"), argument("x")
	xStep, heads, width := argument("xStep"), argument("heads"), argument("width")
	zero := XMM()
	VXORPS(zero, zero, zero)
	left, to, from := GP64(), GP64(), GP64()
	Label("head")
	TESTQ(heads, heads)
	JEQ(LabelRef("done"))
	s := XMM()
	VMOVSS(Mem{Base: c}, s)
	VUCOMISS(zero, s)
	JP(LabelRef("add")) // NaN
	JLS(LabelRef("next"))
	Label("add")
	VMULSS(param("scale"), s, s)
	a := v.reg()
	VBROADCASTSS(s, a)
	MOVQ(width, left)
	MOVQ(y, to)
	MOVQ(x, from)
	Label("group")
	for o := 0; o < 64; o += v.bytes() {
		r := v.reg()
		VMOVUPS(Mem{Base: to, Disp: o}, r)
		VFMADD231PS(Mem{Base: from, Disp: o}, a, r)
		VMOVUPS(r, Mem{Base: to, Disp: o})
	}
	ADDQ(I8(64), to)
	ADDQ(I8(64), from)
	SUBQ(I8(16), left)
	JNE(LabelRef("group"))
	Label("next")
	ADDQ(I8(4), c)
	ADDQ(yStep, y)
	ADDQ(xStep, x)
	DECQ(heads)
	JMP(LabelRef("head"))
	Label("done")
	end()
}

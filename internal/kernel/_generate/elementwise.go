package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// eachVector generates a loop over n/lanes vectors, unrolled as far as given;
// n counts elements, and is a multiple of the lanes.
func (v vectors) eachVector(n reg.Register, unroll int, pointers []reg.Register, body func(offset int)) {
	if unroll > 1 {
		Label("many")
		CMPQ(n, I32(unroll*v.lanes))
		JLT(LabelRef("few"))
		for u := range unroll {
			body(u * v.bytes())
		}
		for _, p := range pointers {
			ADDQ(I32(unroll*v.bytes()), p)
		}
		SUBQ(I32(unroll*v.lanes), n)
		JMP(LabelRef("many"))
		Label("few")
	}
	Label("one")
	TESTQ(n, n)
	JEQ(LabelRef("done"))
	body(0)
	for _, p := range pointers {
		ADDQ(I32(v.bytes()), p)
	}
	SUBQ(I32(v.lanes), n)
	JMP(LabelRef("one"))
	Label("done")
	end()
}

// multiply generates dst = a·b; n is a multiple of 16.
func multiply(v vectors) {
	function("multiply"+v.suffix, "func(dst, a, b *float32, n int)")
	dst, a, b, n := argument("dst"), argument("a"), argument("b"), argument("n")
	v.eachVector(n, 4, []reg.Register{dst, a, b}, func(o int) {
		x := v.reg()
		VMOVUPS(Mem{Base: a, Disp: o}, x)
		VMULPS(Mem{Base: b, Disp: o}, x, x)
		VMOVUPS(x, Mem{Base: dst, Disp: o})
	})
}

// timesZero generates sums over x·0, which are NaN where x is not finite: x[k]·0 is
// added to sums[k mod 16]; n is a multiple of 64.
func timesZero(v vectors) {
	function("timesZero"+v.suffix, "func(sums, x *float32, n int)")
	sums, x, n := argument("sums"), argument("x"), argument("n")
	zero := v.reg()
	v.zero(zero)
	acc := v.regs(64 / v.lanes)
	for _, r := range acc {
		v.zero(r)
	}
	Label("loop")
	for t, r := range acc {
		VFMADD231PS(Mem{Base: x, Disp: t * v.bytes()}, zero, r)
	}
	ADDQ(I32(256), x)
	SUBQ(I32(64), n)
	JNE(LabelRef("loop"))
	across := 16 / v.lanes
	for t, r := range acc {
		if t >= across {
			VADDPS(acc[t%across], r, acc[t%across])
		}
	}
	for t := range across {
		VMOVUPS(acc[t], Mem{Base: sums, Disp: t * v.bytes()})
	}
	end()
}

// widen generates the conversion from half to single precision; n is a multiple of 16.
func widen(v vectors) {
	function("widen"+v.suffix, "func(dst *float32, src *uint16, n int)")
	dst, src, n := argument("dst"), argument("src"), argument("n")
	Label("sixteen")
	CMPQ(n, I8(16))
	JLT(LabelRef("done"))
	for o := 0; o < 16; o += v.lanes {
		x := v.reg()
		VCVTPH2PS(Mem{Base: src, Disp: 2 * o}, x)
		VMOVUPS(x, Mem{Base: dst, Disp: 4 * o})
	}
	ADDQ(I8(64), dst)
	ADDQ(I8(32), src)
	SUBQ(I8(16), n)
	JMP(LabelRef("sixteen"))
	Label("done")
	end()
}

// squareRoot generates x = √x in double precision; n is a multiple of 8.
func squareRoot(v vectors) {
	function("squareRoot"+v.suffix, "func(x *float64, n int)")
	x, n := argument("x"), argument("n")
	Label("eight")
	CMPQ(n, I8(8))
	JLT(LabelRef("done"))
	for o := 0; o < 64; o += v.bytes() {
		r := v.reg()
		VSQRTPD(Mem{Base: x, Disp: o}, r)
		VMOVUPD(r, Mem{Base: x, Disp: o})
	}
	ADDQ(I8(64), x)
	SUBQ(I8(8), n)
	JMP(LabelRef("eight"))
	Label("done")
	end()
}

// scaleTo generates dst = alpha·x; n is a multiple of 16.
func scaleTo(v vectors) {
	function("scaleTo"+v.suffix, "func(dst *float32, alpha float32, x *float32, n int)")
	dst, x, n := argument("dst"), argument("x"), argument("n")
	alpha := v.reg()
	VBROADCASTSS(param("alpha"), alpha)
	v.eachVector(n, 4, []reg.Register{dst, x}, func(o int) {
		y := v.reg()
		VMULPS(Mem{Base: x, Disp: o}, alpha, y)
		VMOVUPS(y, Mem{Base: dst, Disp: o})
	})
}

// adam generates the Adam update of n elements, a multiple of 16; s points at the
// fields of an adamStep, in order.
func adam(v vectors) {
	function("adam"+v.suffix, "func(p, d, m, v *float32, n int, s *float32)")
	p, g, m, w, n := argument("p"), argument("d"), argument("m"), argument("v"), argument("n")
	s := argument("s")
	c := v.regs(8)
	for i, r := range c {
		VBROADCASTSS(Mem{Base: s, Disp: 4 * i}, r)
	}
	beta1, beta2, gain1, gain2, step, correction, epsilon, decay := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	v.eachVector(n, 1, []reg.Register{p, g, m, w}, func(o int) {
		d, x, first, second := v.reg(), v.reg(), v.reg(), v.reg()
		VMOVUPS(Mem{Base: p, Disp: o}, x)
		VMOVUPS(Mem{Base: g, Disp: o}, d)
		VFMADD231PS(x, decay, d)
		VMULPS(Mem{Base: m, Disp: o}, beta1, first)
		VFMADD231PS(d, gain1, first)
		VMOVUPS(first, Mem{Base: m, Disp: o})
		VMULPS(Mem{Base: w, Disp: o}, beta2, second)
		square := v.reg()
		VMULPS(d, d, square)
		VFMADD231PS(square, gain2, second)
		VMOVUPS(second, Mem{Base: w, Disp: o})
		VSQRTPS(second, second)
		VFMADD213PS(epsilon, correction, second)
		VMULPS(step, first, first)
		VDIVPS(second, first, first)
		VSUBPS(first, x, x)
		VMOVUPS(x, Mem{Base: p, Disp: o})
	})
}

// columnSums generates sums over the rows of x, in float64, for some columns. Rows are
// stride elements apart, and each is multiplied by its scale.
func columnSums(v vectors, columns int) {
	function("columnSums"+form(columns)+v.suffix, "func(dst, x *float32, stride int, scale *float32, scaleStep int, rows int)")
	dst, x, stride, scale, step, rows := argument("dst"), argument("x"), argument("stride"), argument("scale"), argument("scaleStep"), argument("rows")
	SHLQ(U8(2), stride)
	doubles := v.lanes / 2
	acc := v.regs(columns / doubles)
	for _, r := range acc {
		v.zero(r)
	}
	s, a := v.reg(), v.reg()
	Label("row")
	TESTQ(rows, rows)
	JEQ(LabelRef("done"))
	VCVTSS2SD(Mem{Base: scale}, s.AsX(), s.AsX())
	VBROADCASTSD(s.AsX(), s)
	for t, r := range acc {
		VCVTPS2PD(Mem{Base: x, Disp: 4 * t * doubles}, a)
		VFMADD231PD(a, s, r)
	}
	ADDQ(stride, x)
	ADDQ(step, scale)
	DECQ(rows)
	JMP(LabelRef("row"))
	Label("done")
	for t, r := range acc {
		p := Mem{Base: dst, Disp: 4 * t * doubles}
		if v.lanes == 16 {
			VCVTPD2PS(r, r.AsY())
			VMOVUPS(r.AsY(), p)
		} else {
			VCVTPD2PSY(r, r.AsX())
			VMOVUPS(r.AsX(), p)
		}
	}
	end()
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmax generates softmaxRow, for n ≥ 1.
func softmax(v vectors) {
	function("softmaxRow"+v.suffix, "func(p, z *float32, n int) (top, total float32)")
	p, z, n := argument("p"), argument("z"), argument("n")

	// Full vectors end at full; a last one of 1 to lanes elements is masked.
	full, left := GP64(), GP64()
	LEAQ(Mem{Base: n, Disp: -1}, left)
	MOVQ(left, full)
	ANDQ(I32(v.lanes-1), left)
	INCQ(left)
	ANDQ(I32(-v.lanes), full)
	SHLQ(U8(2), full)
	tail := v.maskOf(left)
	at := GP64()
	loop := func(name string, body func(p Mem), last func()) {
		XORQ(at, at)
		JMP(LabelRef(name + "Test"))
		Label(name)
		body(Mem{Base: z, Index: at, Scale: 1})
		ADDQ(I32(v.bytes()), at)
		Label(name + "Test")
		CMPQ(at, full)
		JCS(LabelRef(name))
		last()
	}
	here := func(base reg.Register) Mem { return Mem{Base: base, Index: at, Scale: 1} }

	top, x := v.reg(), v.reg()
	VMOVUPS(bits(0xff800000), top) // −∞
	loop("max", func(m Mem) { VMAXPS(m, top, top) }, func() {
		if v.lanes == 16 {
			VMAXPS(here(z), top, tail.r, top)
			return
		}
		tail.load(here(z), x)
		VBLENDVPS(tail.r, x, top, x)
		VMAXPS(x, top, top)
	})
	v.reduce(top, VMAXPS)
	VMOVSS(top.AsX(), result("top"))
	VBROADCASTSS(top.AsX(), top)

	total, zero := v.reg(), v.reg()
	v.zero(total)
	v.zero(zero)
	loop("exp", func(m Mem) {
		y := v.reg()
		VMOVUPS(m, y)
		VSUBPS(top, y, y)
		e, _ := v.expNeg(y)
		v.choose(17, float(smallestProbability), e, zero, e)
		VMOVUPS(e, here(p))
		VADDPS(e, total, total)
	}, func() {
		y := v.reg()
		tail.load(here(z), y)
		VSUBPS(top, y, y)
		e, _ := v.expNeg(y)
		v.choose(17, float(smallestProbability), e, zero, e)
		tail.store(e, here(p))
		if v.lanes == 16 {
			VADDPS(e, total, tail.r, total)
		} else {
			VANDPS(tail.r, e, e)
			VADDPS(e, total, total)
		}
	})
	v.reduce(total, VADDPS)
	VMOVSS(total.AsX(), result("total"))
	inverse := v.reg()
	VMOVSS(float(1), inverse.AsX())
	VDIVSS(total.AsX(), inverse.AsX(), inverse.AsX())
	VBROADCASTSS(inverse.AsX(), inverse)
	loop("scale", func(Mem) {
		y := v.reg()
		VMULPS(here(p), inverse, y)
		VMOVUPS(y, here(p))
	}, func() {
		y := v.reg()
		tail.load(here(p), y)
		VMULPS(inverse, y, y)
		tail.store(y, here(p))
	})
	end()
}

// reduce combines the lanes of r by op into the lowest one.
func (v vectors) reduce(r reg.VecVirtual, op func(...Op)) {
	half := YMM()
	if v.lanes == 16 {
		VEXTRACTF64X4(U8(1), r, half)
		op(half, r.AsY(), r.AsY())
	}
	VEXTRACTF128(U8(1), r.AsY(), half.AsX())
	op(half.AsX(), r.AsX(), r.AsX())
	VPERMILPS(U8(0b1110), r.AsX(), half.AsX())
	op(half.AsX(), r.AsX(), r.AsX())
	VPERMILPS(U8(0b01), r.AsX(), half.AsX())
	op(half.AsX(), r.AsX(), r.AsX())
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (v vectors) negativeAbs(x reg.VecVirtual) {
	if v.lanes == 16 {
		VPORD(bits(1<<31), x, x)
	} else {
		VORPS(bits(1<<31), x, x)
	}
}

// expAbs generates dst = e^−|x|; n is a multiple of 16.
func expAbs(v vectors) {
	function("expAbs"+v.suffix, "func(dst, x *float32, n int)")
	dst, x, n := argument("dst"), argument("x"), argument("n")
	v.eachVector(n, 1, []reg.Register{dst, x}, func(o int) {
		z := v.reg()
		VMOVUPS(Mem{Base: x, Disp: o}, z)
		v.negativeAbs(z)
		e, _ := v.expNeg(z)
		VMOVUPS(e, Mem{Base: dst, Disp: o})
	})
}

// bceGradient generates the gradient of the binary cross-entropy,
// dst = share·(sigmoid(x) − t), 0 where t is NaN; n is a multiple of 16.
func bceGradient(v vectors) {
	function("bceGradient"+v.suffix, "func(dst, x, t *float32, n int, share float32)")
	dst, x, t, n := argument("dst"), argument("x"), argument("t"), argument("n")
	share, zero := v.reg(), v.reg()
	VBROADCASTSS(param("share"), share)
	v.zero(zero)
	v.eachVector(n, 1, []reg.Register{dst, x, t}, func(o int) {
		z, target := v.reg(), v.reg()
		VMOVUPS(Mem{Base: x, Disp: o}, z)
		v.negativeAbs(z)
		e, _ := v.expNeg(z)
		v.choose(17, float(smallestProbability), e, zero, e)
		// Now z is free: the logit again, for its sign.
		VMOVUPS(Mem{Base: x, Disp: o}, z)
		VMOVUPS(Mem{Base: t, Disp: o}, target)
		sum := v.reg()
		VADDPS(float(1), e, sum)
		if v.lanes == 16 {
			positive, known := K(), K()
			VCMPPS(U8(29), zero, z, positive) // x ≥ 0
			VMOVUPS(float(1), positive, e)
			VDIVPS(sum, e, e)
			VCMPPS(U8(7), target, target, known)
			VSUBPS(target, e, e)
			VMULPS_Z(share, e, known, e)
		} else {
			one := v.reg()
			VCMPPS(U8(29), zero, z, z)
			VMOVUPS(float(1), one)
			VBLENDVPS(z, one, e, e)
			VDIVPS(sum, e, e)
			VCMPPS(U8(7), target, target, z)
			VSUBPS(target, e, e)
			VMULPS(share, e, e)
			VANDPS(z, e, e)
		}
		VMOVUPS(e, Mem{Base: dst, Disp: o})
	})
}

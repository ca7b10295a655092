package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// group is how many columns one vector of 16 mask hashes decides about.
const group = 32

var laneWeyl Mem

// activation generates Activate over groups of 32 elements of one row. The first
// group has the mask word word. slope may be nil; without threshold nothing is dropped.
// Survivors are multiplied by kept, dropped elements by dropped; a factor of 0 makes them
// 0, also if they were not finite.
func activation(v vectors, act string) {
	function("activate"+act+v.suffix, "func(dst, slope, z *float32, groups int, threshold uint32, kept, dropped float32, key0, key1, word uint32)")
	if laneWeyl.Base == nil {
		laneWeyl = GLOBL("laneWeyl", NOPTR|RODATA)
		for i := range 16 {
			w := uint32(maskWeyl)
			DATA(4*i, U32(w*uint32(i)))
		}
	}
	dst, slope, z, groups := argument("dst"), argument("slope"), argument("z"), argument("groups")
	drop := Load(Param("threshold"), GP32())
	limit, key0, key1, hash := v.reg(), v.reg(), v.reg(), v.reg()
	v.broadcast(param("threshold"), limit)
	if v.lanes == 8 {
		VPADDD(bits(^uint32(0)), limit, limit) // "at least" is "greater than one less"
	}
	v.broadcast(param("key0"), key0)
	v.broadcast(param("key1"), key1)
	// hash runs through word·maskWeyl + key0.
	word := Load(Param("word"), GP32())
	IMUL3L(I32(int32(-(1<<32 - maskWeyl))), word, word)
	MOVL(word, param("word"))
	v.broadcast(param("word"), hash)
	VPADDD(hash, key0, hash)
	VPADDD(laneWeyl, hash, hash)
	zero := v.reg()
	v.zero(zero)
	factors := v.dropFactors(zero)

	Label("group")
	TESTQ(groups, groups)
	JEQ(LabelRef("done"))
	// Hashes for vectors of 8: words 0–7 and 8–15; for vectors of 16: all.
	hashes := 16 / v.lanes
	for h := range hashes {
		x := v.reg()
		TESTL(drop, drop)
		JEQ(LabelRef(fmt.Sprintf("hashed%d", h)))
		if h == 0 {
			v.mix(hash, x, key1)
		} else {
			w := uint32(8)
			w *= maskWeyl
			second := v.reg()
			VPADDD(bits(w), hash, second)
			v.mix(second, x, key1)
		}
		Label(fmt.Sprintf("hashed%d", h))
		for half := range 2 {
			at := 4 * (half*16 + h*v.lanes)
			in := v.reg()
			VMOVUPS(Mem{Base: z, Disp: at}, in)
			y, s := v.activate(act, in, zero)
			v.drop(drop, x, half, limit, factors, y, s, fmt.Sprintf("kept%d_%d", h, half))
			VMOVUPS(y, Mem{Base: dst, Disp: at})
			TESTQ(slope, slope)
			JEQ(LabelRef(fmt.Sprintf("stored%d_%d", h, half)))
			VMOVUPS(s, Mem{Base: slope, Disp: at})
			Label(fmt.Sprintf("stored%d_%d", h, half))
		}
	}
	step := uint32(16)
	step *= maskWeyl
	VPADDD(bits(step), hash, hash)
	ADDQ(I32(4*group), z)
	ADDQ(I32(4*group), dst)
	TESTQ(slope, slope)
	JEQ(LabelRef("next"))
	ADDQ(I32(4*group), slope)
	Label("next")
	DECQ(groups)
	JMP(LabelRef("group"))
	Label("done")
	end()
}

// broadcast fills r with the 32-bit word at p.
func (v vectors) broadcast(p Mem, r reg.VecVirtual) { VBROADCASTSS(p, r) }

func (v vectors) xor(b Op, a reg.VecVirtual) {
	if v.lanes == 16 {
		VPXORD(b, a, a)
	} else {
		VPXOR(b, a, a)
	}
}

// mix sets x to the mask hash of w = word·maskWeyl + key0.
func (v vectors) mix(w, x, key1 reg.VecVirtual) {
	t := v.reg()
	VPSRLD(U8(16), w, x)
	v.xor(w, x)
	VPMULLD(bits(maskMul0), x, x)
	v.xor(key1, x)
	VPSRLD(U8(15), x, t)
	v.xor(t, x)
	VPMULLD(bits(maskMul1), x, x)
	VPSRLD(U8(16), x, t)
	v.xor(t, x)
}

// dropFactors are the factors of dropout, and whether a dropped element keeps a part.
type dropFactors struct {
	kept, dropped reg.VecVirtual
	part          reg.Register // dropped is not 0: a K register, or a vector of ones or zeros
}

func (v vectors) dropFactors(zero reg.VecVirtual) dropFactors {
	f := dropFactors{kept: v.reg(), dropped: v.reg()}
	VBROADCASTSS(param("kept"), f.kept)
	VBROADCASTSS(param("dropped"), f.dropped)
	const notEqual = 4
	if v.lanes == 16 {
		k := K()
		VCMPPS(U8(notEqual), zero, f.dropped, k)
		f.part = k
	} else {
		lanes := v.reg()
		VCMPPS(U8(notEqual), zero, f.dropped, lanes)
		f.part = lanes
	}
	return f
}

// drop multiplies the elements of y and s whose half of the hash x is below the
// threshold by one factor and the others by the other, unless there is no threshold.
func (v vectors) drop(drop reg.Register, x reg.VecVirtual, half int, limit reg.VecVirtual, f dropFactors, y, s reg.VecVirtual, done string) {
	TESTL(drop, drop)
	JEQ(LabelRef(done))
	u, by := v.reg(), v.reg()
	switch {
	case half == 1:
		VPSRLD(U8(16), x, u)
	case v.lanes == 16:
		VPANDD(bits(0xffff), x, u)
	default:
		VPAND(bits(0xffff), x, u)
	}
	if v.lanes == 16 {
		keep := K()
		VPCMPUD(U8(5), limit, u, keep) // u ≥ threshold
		VBLENDMPS(f.kept, f.dropped, keep, by)
		KORW(f.part, keep, keep)
		VMULPS_Z(by, y, keep, y)
		VMULPS_Z(by, s, keep, s)
	} else {
		VPCMPGTD(limit, u, u)
		VBLENDVPS(u, f.kept, f.dropped, by)
		VORPS(f.part, u, u)
		VMULPS(by, y, y)
		VANDPS(u, y, y)
		VMULPS(by, s, s)
		VANDPS(u, s, s)
	}
	Label(done)
}

// activate returns act(z) and its slope in new registers. The order of the
// operands of minimum and maximum lets NaN pass.
func (v vectors) activate(act string, z, zero reg.VecVirtual) (y, s reg.VecVirtual) {
	switch act {
	case "Identity":
		y, s = v.reg(), v.reg()
		VMOVAPS(z, y)
		VMOVUPS(float(1), s)
	case "ReLU":
		y, s = v.reg(), v.reg()
		VMAXPS(z, zero, y)
		if v.lanes == 16 {
			positive := K()
			VCMPPS(U8(30), zero, z, positive)
			VMOVUPS_Z(float(1), positive, s)
		} else {
			VCMPPS(U8(30), zero, z, s)
			VANDPS(float(1), s, s)
		}
	case "ELU":
		neg := v.reg()
		VMINPS(z, zero, neg)
		s, y = v.expNeg(neg)
		if v.lanes == 16 {
			positive := K()
			VCMPPS(U8(30), zero, z, positive)
			VMOVAPS(z, positive, y)
			VMOVUPS(float(1), positive, s)
		} else {
			positive, one := v.reg(), v.reg()
			VCMPPS(U8(30), zero, z, positive)
			VBLENDVPS(positive, z, y, y)
			VMOVUPS(float(1), one)
			VBLENDVPS(positive, one, s, s)
		}
	case "GELU":
		y, s = v.gelu(z, zero)
	}
	return y, s
}

// gelu returns z·Φ(z) and its slope, rounded as the Go form without fused multiply-adds.
func (v vectors) gelu(z, zero reg.VecVirtual) (y, s reg.VecVirtual) {
	e, t, p, one := v.reg(), v.reg(), v.reg(), v.reg()
	VMULPS(float(-0.5), z, e)
	VMULPS(z, e, e)
	e = v.expNegUnfused(e)
	if v.lanes == 16 {
		VPANDD(bits(0x7fffffff), z, t)
	} else {
		VANDPS(bits(0x7fffffff), z, t)
	}
	VMOVUPS(float(1), one)
	VMULPS(float(erfP*invSqrt2), t, t)
	VADDPS(one, t, t)
	VDIVPS(t, one, t) // 1/(1 + p|z|)
	VMOVUPS(float(erfPolynomial[0]), p)
	for _, c := range erfPolynomial[1:] {
		VMULPS(t, p, p)
		VADDPS(float(c), p, p)
	}
	VMULPS(float(0.5), p, p)
	VMULPS(t, p, p)
	VMULPS(e, p, p) // Φ(−|z|)
	VSUBPS(p, one, t)
	v.choose(30, zero, z, t, p) // Φ(z)
	y, s = v.reg(), v.reg()
	VMULPS(p, z, y)
	VMULPS(float(invSqrt2Pi), z, s)
	VMULPS(e, s, s)
	VADDPS(p, s, s)
	v.choose(30, float(geluFar), z, z, y)
	v.choose(30, float(geluFar), z, one, s)
	v.choose(17, float(-geluFar), z, zero, y)
	v.choose(17, float(-geluFar), z, zero, s)
	return y, s
}

// choose sets the elements of to to from's where a and b compare by the predicate 17, a < b, or
// 30, a > b. NaN compares to nothing.
func (v vectors) choose(predicate uint64, b Op, a, from, to reg.VecVirtual) {
	if v.lanes == 16 {
		k := K()
		VCMPPS(U8(predicate), b, a, k)
		VMOVAPS(from, k, to)
		return
	}
	mask := v.reg()
	VCMPPS(U8(predicate), b, a, mask)
	VBLENDVPS(mask, from, to, to)
}

// expNegUnfused returns e^z for z ≤ 0, rounded as the Go form; it overwrites z.
func (v vectors) expNegUnfused(z reg.VecVirtual) reg.VecVirtual {
	n, f, p := v.reg(), v.reg(), v.reg()
	VMOVUPS(float(expFloor), n)
	VMAXPS(z, n, z)
	VMULPS(float(log2E), z, n)
	VSUBPS(float(0.5), n, n)
	VCVTTPS2DQ(n, n)
	VCVTDQ2PS(n, f)
	VMULPS(float(ln2Hi), f, p)
	VSUBPS(p, z, z)
	VMULPS(float(ln2Lo), f, p)
	VSUBPS(p, z, z)
	VMOVUPS(float(expPolynomial[0]), p)
	for _, c := range expPolynomial[1:] {
		VMULPS(z, p, p)
		VADDPS(float(c), p, p)
	}
	VMULPS(z, z, f)
	VMULPS(f, p, p)
	VADDPS(z, p, p) // e^r − 1
	VPADDD(bits(127), n, n)
	VPSLLD(U8(23), n, n) // 2^n
	VMULPS(n, p, p)
	VADDPS(n, p, p)
	return p
}

// expNeg returns e^z and e^z − 1 for z ≤ 0; it overwrites z.
func (v vectors) expNeg(z reg.VecVirtual) (e, em1 reg.VecVirtual) {
	n, p, sq := v.reg(), v.reg(), v.reg()
	VMOVUPS(float(expFloor), n)
	VMAXPS(z, n, z)
	VMULPS(float(log2E), z, n)
	if v.lanes == 16 {
		VRNDSCALEPS(U8(8), n, n)
	} else {
		VROUNDPS(U8(8), n, n)
	}
	VFNMADD231PS(float(ln2Hi), n, z)
	VFNMADD231PS(float(ln2Lo), n, z)
	VMOVUPS(float(expPolynomial[0]), p)
	for _, c := range expPolynomial[1:] {
		VFMADD213PS(float(c), z, p)
	}
	VMULPS(z, z, sq)
	VFMADD213PS(z, sq, p) // e^r − 1
	VCVTPS2DQ(n, n)
	VPADDD(bits(127), n, n)
	VPSLLD(U8(23), n, n)    // 2^n
	VSUBPS(float(1), n, sq) // 2^n − 1
	VFMADD231PS(p, n, sq)   // + 2^n·(e^r − 1)
	VFMADD213PS(n, n, p)    // 2^n·(e^r − 1) + 2^n
	return p, sq
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// doubles is the number of float64 of a vector.
func (v vectors) doubles() int { return v.lanes / 2 }

// half returns the part of r that holds as many float32 as r holds float64.
func (v vectors) half(r reg.VecVirtual) reg.VecVirtual {
	if v.lanes == 16 {
		return r.AsY().(reg.VecVirtual)
	}
	return r.AsX().(reg.VecVirtual)
}

// narrow generates the conversion of the float64 of r to float32, in its own half.
func (v vectors) narrow(r reg.VecVirtual) reg.VecVirtual {
	h := v.half(r)
	if v.lanes == 16 {
		VCVTPD2PS(r, h)
	} else {
		VCVTPD2PSY(r, h)
	}
	return h
}

// normColumns is the number of columns that a sum over rows has in registers.
func (v vectors) normColumns() int {
	if v.lanes == 16 {
		return 64
	}
	return 16
}

// overRows generates a loop over rows. Its body is generated once for each vector of the
// columns. In the matrices at the pointers a row begins stride elements after the one before.
func (v vectors) overRows(columns int, stride, rows reg.Register, pointers []reg.Register, body func(t, offset int)) {
	SHLQ(U8(2), stride)
	Label("row")
	TESTQ(rows, rows)
	JEQ(LabelRef("done"))
	for t := range columns / v.doubles() {
		body(t, 4*t*v.doubles())
	}
	for _, p := range pointers {
		ADDQ(stride, p)
	}
	DECQ(rows)
	JMP(LabelRef("row"))
	Label("done")
}

func (v vectors) zeros(n int) []reg.VecVirtual {
	acc := v.regs(n)
	for _, r := range acc {
		v.zero(r)
	}
	return acc
}

// storeDoubles generates the stores of the sums.
func (v vectors) storeDoubles(dst reg.Register, acc []reg.VecVirtual) {
	for t, r := range acc {
		VMOVUPD(r, Mem{Base: dst, Disp: t * v.bytes()})
	}
}

// columnTotals generates float64 sums over the rows of x.
func columnTotals(v vectors, columns int) {
	function("columnTotals"+form(columns)+v.suffix, "func(dst *float64, x *float32, stride int, rows int)")
	dst, x, stride, rows := argument("dst"), argument("x"), argument("stride"), argument("rows")
	acc := v.zeros(columns / v.doubles())
	v.overRows(columns, stride, rows, []reg.Register{x}, func(t, o int) {
		a := v.reg()
		VCVTPS2PD(Mem{Base: x, Disp: o}, a)
		VADDPD(a, acc[t], acc[t])
	})
	v.storeDoubles(dst, acc)
	end()
}

// columnSquares generates float64 sums of (x − center)² over the rows of x.
func columnSquares(v vectors, columns int) {
	function("columnSquares"+form(columns)+v.suffix, "func(dst *float64, x *float32, center *float64, stride int, rows int)")
	dst, x, center := argument("dst"), argument("x"), argument("center")
	stride, rows := argument("stride"), argument("rows")
	acc := v.zeros(columns / v.doubles())
	v.overRows(columns, stride, rows, []reg.Register{x}, func(t, o int) {
		a := v.reg()
		VCVTPS2PD(Mem{Base: x, Disp: o}, a)
		VSUBPD(Mem{Base: center, Disp: t * v.bytes()}, a, a)
		VMULPD(a, a, a)
		VADDPD(a, acc[t], acc[t])
	})
	v.storeDoubles(dst, acc)
	end()
}

// columnProducts generates float64 sums over rows of the float32 products a·b.
func columnProducts(v vectors, columns int) {
	function("columnProducts"+form(columns)+v.suffix, "func(dst *float64, a, b *float32, stride int, rows int)")
	dst, a, b := argument("dst"), argument("a"), argument("b")
	stride, rows := argument("stride"), argument("rows")
	acc := v.zeros(columns / v.doubles())
	v.overRows(columns, stride, rows, []reg.Register{a, b}, func(t, o int) {
		p := v.reg()
		h := v.half(p)
		VMOVUPS(Mem{Base: a, Disp: o}, h)
		VMULPS(Mem{Base: b, Disp: o}, h, h)
		VCVTPS2PD(h, p)
		VADDPD(p, acc[t], acc[t])
	})
	v.storeDoubles(dst, acc)
	end()
}

// columnDots generates float64 sums over rows of g, and of g·x.
func columnDots(v vectors, columns int) {
	function("columnDots"+form(columns)+v.suffix, "func(sums, dots *float64, grad, x *float32, stride int, rows int)")
	sums, dots, g, x := argument("sums"), argument("dots"), argument("grad"), argument("x")
	stride, rows := argument("stride"), argument("rows")
	total, along := v.zeros(columns/v.doubles()), v.zeros(columns/v.doubles())
	v.overRows(columns, stride, rows, []reg.Register{g, x}, func(t, o int) {
		a, b := v.reg(), v.reg()
		VCVTPS2PD(Mem{Base: g, Disp: o}, a)
		VCVTPS2PD(Mem{Base: x, Disp: o}, b)
		VADDPD(a, total[t], total[t])
		VFMADD231PD(a, b, along[t]) // a·b is exact
	})
	v.storeDoubles(sums, total)
	v.storeDoubles(dots, along)
	end()
}

// eachDoubles generates a loop over n elements, a multiple of 8, one vector of float64 at a
// time, and the end of the function. pointers are of float32, wide of float64.
func (v vectors) eachDoubles(n reg.Register, pointers, wide []reg.Register, body func()) {
	Label("one")
	TESTQ(n, n)
	JEQ(LabelRef("done"))
	body()
	for _, p := range pointers {
		ADDQ(I8(v.bytes()/2), p)
	}
	for _, p := range wide {
		ADDQ(I8(v.bytes()), p)
	}
	SUBQ(I8(v.doubles()), n)
	JMP(LabelRef("one"))
	Label("done")
	end()
}

// normalize generates kept = (x − mean)·factor in float64, and y = gain·kept + shift. mean
// and factor are of each column, or of the row. If kept is y, y is stored last.
func normalize(v vectors, columns bool) {
	name, of := "normalizeRow", "mean, factor float64, "
	if columns {
		name, of = "normalizeColumns", "mean, factor *float64, "
	}
	function(name+v.suffix, "func(y, kept, x, gain, shift *float32, "+of+"n int)")
	y, kept, x := argument("y"), argument("kept"), argument("x")
	gain, shift := argument("gain"), argument("shift")
	var wide []reg.Register
	var mean, factor Op
	if columns {
		m, f := argument("mean"), argument("factor")
		wide = []reg.Register{m, f}
		mean, factor = Mem{Base: m}, Mem{Base: f}
	} else {
		m, f := v.reg(), v.reg()
		VBROADCASTSD(param("mean"), m)
		VBROADCASTSD(param("factor"), f)
		mean, factor = m, f
	}
	n := argument("n")
	v.eachDoubles(n, []reg.Register{y, kept, x, gain, shift}, wide, func() {
		a := v.reg()
		VCVTPS2PD(Mem{Base: x}, a)
		VSUBPD(mean, a, a)
		VMULPD(factor, a, a)
		h := v.narrow(a)
		VMOVUPS(h, Mem{Base: kept})
		VMULPS(Mem{Base: gain}, h, h)
		VADDPS(Mem{Base: shift}, h, h)
		VMOVUPS(h, Mem{Base: y})
	})
}

// batchNormBack generates d = factor·(g − mean − x·dot/rows) in float64.
func batchNormBack(v vectors) {
	function("batchNormBack"+v.suffix, "func(d, grad, x *float32, factor, mean, dot *float64, rows float64, n int)")
	d, g, x := argument("d"), argument("grad"), argument("x")
	factor, mean, dot := argument("factor"), argument("mean"), argument("dot")
	rows := v.reg()
	VBROADCASTSD(param("rows"), rows)
	n := argument("n")
	v.eachDoubles(n, []reg.Register{d, g, x}, []reg.Register{factor, mean, dot}, func() {
		a, b := v.reg(), v.reg()
		VCVTPS2PD(Mem{Base: g}, a)
		VSUBPD(Mem{Base: mean}, a, a)
		VCVTPS2PD(Mem{Base: x}, b)
		VMULPD(Mem{Base: dot}, b, b)
		VDIVPD(rows, b, b)
		VSUBPD(b, a, a)
		VMULPD(Mem{Base: factor}, a, a)
		VMOVUPS(v.narrow(a), Mem{Base: d})
	})
}

// layerNormBack generates d = inverse·(g·gain − sum − x·along) in float64.
func layerNormBack(v vectors) {
	function("layerNormBack"+v.suffix, "func(d, grad, x, gain *float32, inverse, sum, along float64, n int)")
	d, g, x, gain := argument("d"), argument("grad"), argument("x"), argument("gain")
	inverse, sum, along := v.reg(), v.reg(), v.reg()
	VBROADCASTSD(param("inverse"), inverse)
	VBROADCASTSD(param("sum"), sum)
	VBROADCASTSD(param("along"), along)
	n := argument("n")
	v.eachDoubles(n, []reg.Register{d, g, x, gain}, nil, func() {
		a, b := v.reg(), v.reg()
		VCVTPS2PD(Mem{Base: g}, a)
		VCVTPS2PD(Mem{Base: gain}, b)
		VMULPD(b, a, a)
		VSUBPD(sum, a, a)
		VCVTPS2PD(Mem{Base: x}, b)
		VMULPD(along, b, b)
		VSUBPD(b, a, a)
		VMULPD(inverse, a, a)
		VMOVUPS(v.narrow(a), Mem{Base: d})
	})
}

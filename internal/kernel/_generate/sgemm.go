package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sgemm generates the inner loop of a matrix product: a tile C = alpha·A·B + beta⊗In of
// the given rows and vectors across is kept in registers while k goes by. A tile may
// have fewer rows, and fewer columns in its last vector.
//
// A[i][p] is at a + i·rowStep + p·kStep elements and is read for all rows, B[p] at
// b + across·lanes·p. With r = numbers[i], row i of C is at c + r·ldc, of In at
// in + r·ldin, and its beta at beta + r·betaStep. A nil in stands for zeros, and beta is
// not read.
func sgemm(v vectors, rows, across int) {
	name := fmt.Sprintf("tile%dx%d%s", rows, across*v.lanes, v.suffix)
	function(name, "func(c *float32, ldc int, numbers *int32, rows int, cols int, a *float32, rowStep int, kStep int, b *float32, k int, alpha float32, in *float32, ldin int, beta *float32, betaStep int)")
	b, k, kStep, rowStep := argument("b"), argument("k"), argument("kStep"), argument("rowStep")
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

	c, ldc, numbers, left := argument("c"), argument("ldc"), argument("numbers"), argument("rows")
	in, ldin := argument("in"), argument("ldin")
	betas, betaStep := argument("beta"), argument("betaStep")
	for _, distance := range []reg.Register{ldc, ldin, betaStep} {
		SHLQ(U8(2), distance)
	}
	alpha, beta := bs[0], v.reg()
	VBROADCASTSS(param("alpha"), alpha)
	number, to, from := GP64(), GP64(), GP64()
	// element sets p to base + number·distance.
	element := func(base, distance, p reg.Register) {
		MOVQ(number, p)
		IMULQ(distance, p)
		ADDQ(base, p)
	}

	// Masked stores are slow on some processors, so full tiles do without.
	epilogue := func(kind string, edge *mask) {
		old := v.reg()
		for i := range rows {
			fresh := fmt.Sprintf("%s%d", kind, i)
			row := acc[i*across : (i+1)*across]
			MOVLQSX(Mem{Base: numbers, Disp: 4 * i}, number)
			element(c, ldc, to)
			for _, r := range row {
				VMULPS(alpha, r, r)
			}
			TESTQ(in, in)
			JEQ(LabelRef(fresh))
			element(betas, betaStep, from)
			VBROADCASTSS(Mem{Base: from}, beta)
			element(in, ldin, from)
			for t, r := range row {
				p := Mem{Base: from, Disp: t * v.bytes()}
				if edge != nil && t == across-1 {
					edge.load(p, old)
					VFMADD231PS(old, beta, r)
				} else {
					VFMADD231PS(p, beta, r)
				}
			}
			Label(fresh)
			for t, r := range row {
				p := Mem{Base: to, Disp: t * v.bytes()}
				if edge != nil && t == across-1 {
					edge.store(r, p)
				} else {
					VMOVUPS(r, p)
				}
			}
			DECQ(left)
			JEQ(LabelRef("done"))
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
	end()
}

// packStrip generates a copy of k rows of width elements to rows of step elements, step
// apart, padded with zeros; 1 ≤ width ≤ step ≤ 2·lanes. Row p is at src + numbers[p]·ld,
// or at src + p·ld if numbers is nil. It stores whole vectors: the elements after the
// last row are overwritten up to the end of its last vector.
func packStrip(v vectors) {
	function("packStrip"+v.suffix, "func(dst *float32, step int, src *float32, ld int, numbers *int32, k int, width int)")
	dst, step, src, ld, k, width := argument("dst"), argument("step"), argument("src"), argument("ld"), argument("k"), argument("width")
	numbers, from := argument("numbers"), GP64()
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
	x, y := v.reg(), v.reg()
	loop := func(label string, two, listed bool) {
		Label(label)
		p := src
		if listed {
			p = from
			MOVLQSX(Mem{Base: numbers}, from)
			IMULQ(ld, from)
			ADDQ(src, from)
			ADDQ(I8(4), numbers)
		}
		first.load(Mem{Base: p}, x)
		VMOVUPS(x, Mem{Base: dst})
		if two {
			second.load(Mem{Base: p, Disp: v.bytes()}, y)
			VMOVUPS(y, Mem{Base: dst, Disp: v.bytes()})
		}
		if !listed {
			ADDQ(ld, src)
		}
		ADDQ(step, dst)
		DECQ(k)
		JNE(LabelRef(label))
		end()
	}
	TESTQ(numbers, numbers)
	JNE(LabelRef("listed"))
	CMPQ(step, I8(v.bytes()))
	JGT(LabelRef("two"))
	loop("one", false, false)
	loop("two", true, false)
	Label("listed")
	CMPQ(step, I8(v.bytes()))
	JGT(LabelRef("twoListed"))
	loop("oneListed", false, true)
	loop("twoListed", true, true)
}

// transpose generates the transposition of count squares of as many rows and columns as
// a vector has lanes: pairs of rows are interleaved, then pairs of pairs, and so on. The
// squares lie side by side in src, its rows ld apart, and below each other in dst, its
// rows step apart.
func transpose(v vectors) {
	function("transpose"+v.suffix, "func(dst *float32, step int, src *float32, ld int, count int)")
	dst, step, src, ld, count := argument("dst"), argument("step"), argument("src"), argument("ld"), argument("count")
	SHLQ(U8(2), ld)
	SHLQ(U8(2), step)
	p := GP64()
	Label("square")
	MOVQ(src, p)
	rows := v.regs(v.lanes)
	for i, r := range rows {
		VMOVUPS(Mem{Base: p}, r)
		if i < v.lanes-1 {
			ADDQ(ld, p)
		}
	}
	// In every lane of 128 bits, four rows become four columns.
	fours := make([]reg.VecVirtual, v.lanes)
	for i := 0; i < v.lanes; i += 4 {
		a, b, c, d := v.reg(), v.reg(), v.reg(), v.reg()
		VUNPCKLPS(rows[i+1], rows[i], a)
		VUNPCKHPS(rows[i+1], rows[i], b)
		VUNPCKLPS(rows[i+3], rows[i+2], c)
		VUNPCKHPS(rows[i+3], rows[i+2], d)
		for k, pair := range [][2]reg.VecVirtual{{a, c}, {b, d}} {
			low, high := v.reg(), v.reg()
			VUNPCKLPD(pair[1], pair[0], low)
			VUNPCKHPD(pair[1], pair[0], high)
			fours[i+2*k], fours[i+2*k+1] = low, high
		}
	}
	// fours[4g+c], lane l: column 4l+c of rows 4g to 4g+3. Now lanes are gathered.
	columns := make([]reg.VecVirtual, v.lanes)
	for c := range 4 {
		if v.lanes == 8 {
			columns[c], columns[c+4] = v.reg(), v.reg()
			VPERM2F128(U8(0x20), fours[4+c], fours[c], columns[c])
			VPERM2F128(U8(0x31), fours[4+c], fours[c], columns[c+4])
			continue
		}
		even, odd, even2, odd2 := v.reg(), v.reg(), v.reg(), v.reg()
		VSHUFF32X4(U8(0x88), fours[4+c], fours[c], even)     // lanes 0, 2 of rows 0–3, 4–7
		VSHUFF32X4(U8(0xdd), fours[4+c], fours[c], odd)      // lanes 1, 3
		VSHUFF32X4(U8(0x88), fours[12+c], fours[8+c], even2) // of rows 8–11, 12–15
		VSHUFF32X4(U8(0xdd), fours[12+c], fours[8+c], odd2)
		for l, pair := range [][2]reg.VecVirtual{{even, even2}, {odd, odd2}} {
			columns[4*l+c], columns[4*(l+2)+c] = v.reg(), v.reg()
			VSHUFF32X4(U8(0x88), pair[1], pair[0], columns[4*l+c])
			VSHUFF32X4(U8(0xdd), pair[1], pair[0], columns[4*(l+2)+c])
		}
	}
	for _, r := range columns {
		VMOVUPS(r, Mem{Base: dst})
		ADDQ(step, dst)
	}
	ADDQ(I32(v.bytes()), src)
	DECQ(count)
	JNE(LabelRef("square"))
	end()
}

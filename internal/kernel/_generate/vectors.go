package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors is one set of vector instructions, so that a kernel is written once
// for both.
type vectors struct {
	suffix string
	lanes  int // float32 of a vector
}

// argument loads an argument of 8 bytes into a register.
func argument(name string) reg.Register { return Load(Param(name), GP64()) }

var (
	avx2   = vectors{"AVX2", 8}
	avx512 = vectors{"AVX512", 16}
)

func (v vectors) bytes() int { return 4 * v.lanes }

// function begins a function in assembly.
func function(name, signature string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
}

func end() {
	VZEROUPPER()
	RET()
}

// reg returns a new vector register.
func (v vectors) reg() reg.VecVirtual {
	if v.lanes == 16 {
		return ZMM()
	}
	return YMM()
}

func (v vectors) regs(n int) []reg.VecVirtual {
	list := make([]reg.VecVirtual, n)
	for i := range list {
		list[i] = v.reg()
	}
	return list
}

// zero clears a register.
func (v vectors) zero(r reg.VecVirtual) {
	if v.lanes == 16 {
		VPXORD(r, r, r)
	} else {
		VXORPS(r, r, r)
	}
}

// mask selects the first elements of a vector.
type mask struct {
	v vectors
	r reg.Register // K register, or a vector with the selected lanes negative
}

// slidingMask is 8 lanes of ones followed by 8 of zeros.
var slidingMask Mem

// maskOf returns the mask of the first n lanes; n is a 64-bit register with
// 1 ≤ n ≤ lanes, and is overwritten.
func (v vectors) maskOf(n reg.GPVirtual) mask {
	if v.lanes == 16 {
		ones := GP32()
		MOVL(I32(-1), ones)
		BZHIL(n.As32(), ones, ones)
		k := K()
		KMOVW(ones, k)
		return mask{v, k}
	}
	if slidingMask.Base == nil {
		slidingMask = GLOBL("slidingMask", NOPTR|RODATA)
		for i := range 16 {
			x := U32(0)
			if i < 8 {
				x = 0xffffffff
			}
			DATA(4*i, x)
		}
	}
	base := GP64()
	LEAQ(slidingMask.Offset(32), base)
	SHLQ(U8(2), n)
	SUBQ(n, base)
	m := YMM()
	VMOVUPS(Mem{Base: base}, m)
	return mask{v, m}
}

// load reads the selected lanes of p to r and zeroes the others.
func (m mask) load(p Mem, r reg.VecVirtual) {
	if m.v.lanes == 16 {
		VMOVUPS_Z(p, m.r, r)
	} else {
		VMASKMOVPS(p, m.r, r)
	}
}

// store writes the selected lanes of r to p.
func (m mask) store(r reg.VecVirtual, p Mem) {
	if m.v.lanes == 16 {
		VMOVUPS(r, m.r, p)
	} else {
		VMASKMOVPS(r, m.r, p)
	}
}

// param returns where a parameter lies in memory.
func param(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// result returns where a result lies in memory.
func result(name string) Mem {
	b, err := Return(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

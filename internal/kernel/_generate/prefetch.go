package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// prefetchAt generates prefetches of x[ids[k]] for n > 0 indices, which need not be valid:
// a prefetch of an address that is not mapped does nothing. size is the bytes of an element.
func prefetchAt() {
	function("prefetchAt", "func(x *byte, size int, ids *int32, n int)")
	x, size := argument("x"), argument("size")
	ids, n := argument("ids"), argument("n")
	j := GP64()
	Label("loop")
	MOVLQSX(Mem{Base: ids}, j)
	IMULQ(size, j)
	PREFETCHT1(Mem{Base: x, Index: j, Scale: 1})
	ADDQ(I8(4), ids)
	DECQ(n)
	JNE(LabelRef("loop"))
	RET()
}

// prefetchLines generates prefetches of the cache lines of x and of each 64th byte after
// it, below x + bytes, and of the last byte; bytes > 0.
func prefetchLines() {
	function("prefetchLines", "func(x *byte, bytes int)")
	x, end := argument("x"), argument("bytes")
	ADDQ(x, end)
	Label("loop")
	PREFETCHT1(Mem{Base: x})
	ADDQ(I8(64), x)
	CMPQ(x, end)
	JCS(LabelRef("loop"))
	PREFETCHT1(Mem{Base: end, Disp: -1})
	RET()
}

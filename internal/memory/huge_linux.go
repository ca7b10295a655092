package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func adviseHuge(values []float32) {
	const page = 2 << 20
	from := uintptr(unsafe.Pointer(unsafe.SliceData(values)))
	lo, hi := (from+page-1)/page*page, (from+4*uintptr(len(values)))/page*page
	if lo < hi {
		whole := values[(lo-from)/4 : (hi-from)/4]
		// A system without huge pages refuses: the memory works all the same.
		_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Pointer(&whole[0])), hi-lo), unix.MADV_HUGEPAGE)
	}
}

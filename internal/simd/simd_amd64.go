//go:build amd64 && !noasm

package simd

import "golang.org/x/sys/cpu"

// Available returns the highest level of this machine. It never changes while
// the process runs.
func Available() Level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI2 || !x.HasF16C:
		return Portable
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return AVX512
	}
	return AVX2
}

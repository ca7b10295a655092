//go:build !linux

package memory

func adviseHuge([]float32) {}

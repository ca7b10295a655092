//go:build !linux

package store

// Only Linux gets advice about mappings: on other systems the same calls have other
// meanings, or none.

func releasePages([]byte, uint64, uint64) {}

func expectRandom([]byte, uint64, uint64) {}

func fetchRows([]byte, []int32, func(int32) (uint64, uint64)) {}

//go:build !linux

package store

// Only Linux gets advice about mappings: on other systems the same calls have other
// meanings, or none.

func releasePages([]byte, int64, int64) {}

func expectRandom([]byte, int64, int64) {}

func fetchRows([]byte, []int32, func(int32) (int64, int64)) {}

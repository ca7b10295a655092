//go:build !linux

package datasets

// What to tell the system about a mapping is left to it: elsewhere than on
// Linux, such advice means other things, or nothing.

func releasePages([]byte, uint64, uint64) {}

func expectRandom([]byte, uint64, uint64) {}

func fetchRows([]byte, uint64, uint64, []int32) {}

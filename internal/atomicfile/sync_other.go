//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import "os"

// syncFolder does nothing: Windows has no such call, and keeps renames in its
// journal; elsewhere not every system lets a folder be opened.
func syncFolder(*os.Root) error { return nil }

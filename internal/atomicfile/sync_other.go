//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import "os"

// syncFolder does nothing. Windows has no such call, and keeps renames in its
// journal. Not all other systems can open a folder.
func syncFolder(*os.Root) error { return nil }

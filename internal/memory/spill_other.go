//go:build !linux && (darwin || dragonfly || freebsd || openbsd || solaris || netbsd || windows)

package memory

import "os"

// reserve makes a new file that many bytes long, and takes the disk space for them.
func reserve(f *os.File, _ string, bytes int64) error { return writeZeros(f, bytes) }

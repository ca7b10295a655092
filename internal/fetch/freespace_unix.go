//go:build darwin || linux

package fetch

import "golang.org/x/sys/unix"

// freeSpace returns the bytes that may still be written to the disk of a folder, or false
// if the system does not tell.
func freeSpace(dir string) (int64, bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil || stat.Bsize <= 0 {
		return 0, false
	}
	return int64(stat.Bavail) * int64(stat.Bsize), true
}

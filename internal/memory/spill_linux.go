package memory

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reserve makes a new file that many bytes long, and takes the disk space for them.
func reserve(f *os.File, dir string, bytes int64) error {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) == nil && stat.Bsize > 0 {
		if free := stat.Bavail * uint64(stat.Bsize); uint64(bytes) > free {
			return fmt.Errorf("%s are free", Text(free))
		}
	}
	err := unix.Fallocate(int(f.Fd()), 0, 0, bytes)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return writeZeros(f, bytes)
	}
	return err
}

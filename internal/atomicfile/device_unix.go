//go:build unix

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openDevice opens a device or a pipe for writing. A pipe without a reader is an error:
// to wait for one may take for ever. Writes to an open pipe wait as usual.
func openDevice(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENXIO) {
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("a pipe that no process reads")}
	}
	return file, err
}

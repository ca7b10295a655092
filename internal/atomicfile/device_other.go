//go:build !unix

package atomicfile

import "os"

// openDevice opens a device or a pipe for writing.
func openDevice(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package train

import "os"

// lockPath opens the lock file, but takes no lock: this system has none that
// ends with the process. Two processes in one folder are the user's to avoid.
func lockPath(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666) }

// syncFolder does nothing: not every system lets a folder be opened.
func syncFolder(string) error { return nil }

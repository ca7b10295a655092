//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package datasets

import "os"

// haveLocks tells whether lockFile works on this system.
const haveLocks = false

// lockFile takes no lock: this system has none that ends with the process. So it
// never has it where it need not wait.
func lockFile(_ *os.File, wait bool) (locked bool, err error) { return wait, nil }

// syncFolder does nothing: not every system lets a folder be opened.
func syncFolder(string) error { return nil }

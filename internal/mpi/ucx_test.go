//go:build unix

package mpi

import (
	"strings"
	"testing"
)

// UCX does not overwrite code of the C library, which other threads may run, unless the user
// wants it. Debian's MPICH uses UCX; other libraries print nothing about it.
func TestUCXKeepsCode(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher string) {
		for _, mode := range []string{"", "bistro"} {
			out, err := launch(t, launcher, "open", 1, "UCX_MEM_LOG_LEVEL=debug", hookMode+"="+mode)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if overwrites := strings.Contains(out, "installing bistro hook"); strings.Contains(out, "libucm") && overwrites != (mode != "") {
				t.Errorf("mode %q: code is overwritten: %v\n%s", mode, overwrites, out)
			}
		}
	})
}

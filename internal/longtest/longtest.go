// Package longtest tells tests whether to do what takes long: kills at random moments,
// and the whole of a matrix of settings.
package longtest

import (
	"os"
	"testing"
)

// Wanted reports whether the environment holds GCN_LONG=1 and the tests run without -short.
func Wanted() bool { return os.Getenv("GCN_LONG") == "1" && !testing.Short() }

// Skip skips a test unless long ones are wanted.
func Skip(t testing.TB) {
	t.Helper()
	if !Wanted() {
		t.Skip("takes long: set GCN_LONG=1")
	}
}

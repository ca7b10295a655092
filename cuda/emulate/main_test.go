package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/longtest"
)

func TestRun(t *testing.T) {
	longtest.Skip(t) // it builds the emulator
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		out  string
		err  string
	}{
		{nil, 0, "GCN_CUBLAS=", ""},
		{[]string{"sh", "-c", "test -f $GCN_CUDA && test -f $GCN_CUBLAS && cat"}, 0, "input", ""},
		{[]string{"sh", "-c", "exit 7"}, 7, "", ""},
		{[]string{"no-such-command"}, 1, "", "emulate: exec: "},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), c.args, strings.NewReader("input"), &out, &errs)
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.HasPrefix(errs.String(), c.err) {
			t.Errorf("%v: code %d, output %q, errors %q", c.args, code, out.String(), errs.String())
		}
	}
}

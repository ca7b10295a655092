package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/run"
)

// TestTrainHelp checks that --help shows the common
// ones on one screen, and that --help-all shows all.
func TestTrainHelp(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	run.AddFlags(flags, new(run.Settings))
	run.AddFlags(flags, new(run.Output))
	want := flagNames(flags)
	if len(want) > 57 {
		t.Errorf("gcn train has %d flags", len(want))
	}
	help := succeed(t, "train", "--help").stdout
	if n := strings.Count(help, "\n"); n > 50 {
		t.Errorf("--help has %d lines", n)
	}
	all := succeed(t, "train", "--help-all").stdout
	for _, name := range want {
		if !strings.Contains(all, "--"+name+" ") {
			t.Errorf("--help-all does not show --%s", name)
		}
	}
	if strings.Contains(help, "--clip") || !strings.Contains(help, "--help-all") {
		t.Errorf("--help is\n%s", help)
	}
}

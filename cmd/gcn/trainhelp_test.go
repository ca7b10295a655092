package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestTrainHelp checks that the groups hold each flag once, that --help shows the common
// ones on a screen and a half, and that --help-all shows all.
func TestTrainHelp(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(trainOptions).flags(flags)
	new(outputOptions).flags(flags)
	var grouped []string
	for _, group := range trainGroups() {
		grouped = append(grouped, strings.Fields(group.common+" "+group.rare)...)
	}
	want := flagNames(flags)
	slices.Sort(want)
	slices.Sort(grouped)
	if !slices.Equal(grouped, want) {
		t.Errorf("the groups hold\n%v, the flags are\n%v", grouped, want)
	}
	help := succeed(t, "train", "--help").stdout
	if n := strings.Count(help, "\n"); n > 60 {
		t.Errorf("--help has %d lines", n)
	}
	all := succeed(t, "train", "--help-all").stdout
	for _, name := range want {
		if !strings.Contains(all, "--"+name+" ") {
			t.Errorf("--help-all does not show --%s", name)
		}
	}
	if strings.Contains(help, "--beta1") || !strings.Contains(help, "--help-all") {
		t.Errorf("--help is\n%s", help)
	}
}

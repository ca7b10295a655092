package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagsDocumented checks that docs/command.md names every flag: those of gcn train and
// gcn tune anywhere, and those of the other commands in the row of the command or of its
// group, unless gcn train has the same flag.
func TestFlagsDocumented(t *testing.T) {
	page := string(readFile(t, "../../docs/command.md"))
	_, section, found := strings.Cut(page, "## Options of the other commands\n")
	if !found {
		t.Fatal("docs/command.md has no section on the other commands")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{} // of a command
	for line := range strings.Lines(section) {
		commands, options, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !isRow {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(commands, -1) {
			rows[name[1]] += options
		}
	}
	root, _ := newRoot(io.Discard, io.Discard)
	train, _, err := root.Find([]string{"train"})
	if err != nil {
		t.Fatal(err)
	}
	var visit func(cmd *cobra.Command, text string)
	visit = func(cmd *cobra.Command, text string) {
		name := strings.TrimPrefix(cmd.CommandPath(), "gcn ")
		text += rows[name]
		delete(rows, name)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			place := text
			switch same := train.Flags().Lookup(f.Name); {
			case name == "train", name == "tune":
				place = page
			case same != nil && same.Usage == f.Usage:
				return
			}
			if !regexp.MustCompile("`--" + f.Name + "[` =]").MatchString(place) {
				t.Errorf("docs/command.md lacks %s --%s: %s", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, c := range cmd.Commands() {
			visit(c, text)
		}
	}
	visit(root, "")
	for name := range rows {
		t.Errorf("docs/command.md has options of %q, which is no command", name)
	}
}

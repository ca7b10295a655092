package run

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of options in docs/command.md")

// TestOptionsTable compares the list of options in docs/command.md with Settings. With -update
// it writes the list.
func TestOptionsTable(t *testing.T) {
	const page, begin, end = "../docs/command.md", "<!-- options: go test ./run -update -->\n", "<!-- end of options -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q and %q", page, begin, end)
	}
	var b strings.Builder
	table := func(of any, kind string, keep func(Option) bool) {
		b.WriteString("\n")
		for _, o := range Options(of) {
			if !keep(o) {
				continue
			}
			name, value := o.Flag(), ""
			if o.File {
				name = o.Name
			}
			if o.Default != "" {
				value = "=" + o.Default
			}
			fmt.Fprintf(&b, "- `%s%s%s`: %s\n", kind, name, value, o.Help)
		}
	}
	group := ""
	for _, o := range Options(new(Settings)) {
		if o.Group != group && !o.File {
			group = o.Group
			fmt.Fprintf(&b, "\n**%s**\n", group)
			table(new(Settings), "--", func(o Option) bool { return o.Group == group && !o.File })
		}
	}
	b.WriteString("\n**In files only** (`--config`, `--recipe`)\n")
	table(new(Settings), "", func(o Option) bool { return o.File })
	b.WriteString("\n**Keys of `--method`**, of layer-wise methods (`ladies`, `fastgcn`, `uniform`); `neighbor` has `importance`, `flat`, `draw` and `weight`; `ladies-cv` and `mvs` have `every`, `half` and `linear`\n")
	table(new(Keys), "", func(Option) bool { return true })
	b.WriteString("\n**Key of `--schedule`**\n")
	table(new(ScheduleKeys), "", func(Option) bool { return true })
	want := before + begin + b.String() + "\n" + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s: the list of options is not as in the tags of Settings: go test ./run -update", page)
	}
}

//go:build cuda

package elementwise

import (
	_ "embed"
	"strings"

	G "gorgonia.org/gorgonia"
)

//go:embed elembinop.ptx
var binary string

//go:embed elemunaryop.ptx
var unary string

// Every machine that Gorgonia makes from now on loads them.
func init() {
	G.AddToStdLib("elembinop", binary, entries(binary))
	G.AddToStdLib("elemunaryop", unary, entries(unary))
}

// entries lists the kernels in a PTX text.
func entries(ptx string) []string {
	var names []string
	for line := range strings.Lines(ptx) {
		if rest, ok := strings.CutPrefix(line, ".visible .entry "); ok {
			name, _, _ := strings.Cut(rest, "(")
			names = append(names, name)
		}
	}
	return names
}

package notebook

import (
	"strings"
	"testing"
)

// TestNothingToDraw checks that a missing result or figure is not a panic.
func TestNothingToDraw(t *testing.T) {
	if c := Draw(nil); !strings.Contains(c.SVG(), "nothing to draw") {
		t.Errorf("no figure: %s", c)
	}
	Curves("run", "accuracy", nil)
	c := new(Comparison)
	c.Add("a", nil)
	if n := len(c.Sheet().rows); n != 0 {
		t.Errorf("%d rows of no runs", n)
	}
}

package main

import (
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	got, err := apply("a b c", []edit{{"b", "B"}, {"B c", "d"}})
	if err != nil || got != "a d" {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"a", "b b"} { // missing; there twice
		if _, err := apply(text, []edit{{"b", "B"}}); err == nil || !strings.Contains(err.Error(), `want 1, with "b"`) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

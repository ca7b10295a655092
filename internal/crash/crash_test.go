package crash_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/crash"
)

func recovered(f func()) (place string) {
	defer func() {
		recover()
		place = crash.Place()
	}()
	f()
	return ""
}

func TestPlace(t *testing.T) {
	here := regexp.MustCompile(` at .*crash_test\.go:\d+$`)
	var none []int
	for name, f := range map[string]func(){
		"panic":   func() { panic("boom") },
		"runtime": func() { none[len(none)]++ },
	} {
		if place := recovered(f); !here.MatchString(place) {
			t.Errorf("%s: place %q", name, place)
		}
	}
	if place := crash.Place(); place != "" {
		t.Errorf("without a panic: %q", place)
	}
}

func Example() {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(r, crash.Place() != "")
		}
	}()
	panic("boom")
	// Output: boom true
}

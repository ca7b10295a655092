//go:build !nodlopen && linux && (amd64 || arm64)

package partition

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"
)

func findMetis(t *testing.T) *Metis {
	m, err := FindMetis()
	if err != nil {
		t.Skip("METIS is not installed: ", err)
	}
	return m
}

// TestMetis checks that METIS, where it is installed, gives parts of about equal
// size and finds blocks, the same each time, and that the built-in partitioner
// comes near it.
func TestMetis(t *testing.T) {
	m := findMetis(t)
	a, want := planted(t, 60, 100, 16, 4)
	part, err := m.Partition(a, 60)
	if err != nil {
		t.Fatal(err)
	}
	sizes := make([]int, 60)
	for _, p := range part {
		sizes[p]++
	}
	if least, most := slices.Min(sizes), slices.Max(sizes); least < 80 || most > 120 {
		t.Errorf("parts of %d to %d nodes, want about 100", least, most)
	}
	own, err := Multilevel(a, 60)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s cuts %d edges, the built-in partitioner %d, planted %d", m.Name(), Cut(a, part), Cut(a, own), want)
	if got := Cut(a, part); float64(got) > 1.3*float64(want) || float64(Cut(a, own)) > 1.3*float64(got) {
		t.Errorf("%s cuts %d edges, the built-in partitioner %d, planted %d", m.Name(), got, Cut(a, own), want)
	}
	again, err := m.Partition(a, 60)
	if err != nil || !slices.Equal(part, again) {
		t.Errorf("a second run differs (%v)", err)
	}
	if one, err := m.Partition(a, 1); err != nil || slices.Max(one) != 0 {
		t.Errorf("one part: %v", err)
	}
	if _, err := m.Partition(a, 0); err == nil {
		t.Error("no parts: no error")
	}
	alone := build(t, 5, nil)
	if part, err := m.Partition(alone, 2); err != nil || len(part) != 5 {
		t.Errorf("a graph without edges: %v", err)
	}
}

// TestMetisLeavesSignals checks that Go's handling of SIGTERM survives METIS,
// which handles it while it runs: without the flags of Go's handler, the
// process would die here.
func TestMetisLeavesSignals(t *testing.T) {
	m := findMetis(t)
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGTERM)
	defer signal.Stop(got)
	a, _ := planted(t, 4, 50, 8, 2)
	if _, err := m.Partition(a, 4); err != nil {
		t.Fatal(err)
	}
	for range 20 { // on whatever thread
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-got:
		case <-time.After(10 * time.Second):
			t.Fatal("SIGTERM was lost")
		}
	}
}

package memory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSpilled(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{0, 1, 1000, 3<<20 + 5} {
		values, free, err := Spilled(dir, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(values) != n {
			t.Fatalf("%d values, want %d", len(values), n)
		}
		for i := range values {
			if values[i] != 0 {
				t.Fatalf("value %d is %v", i, values[i])
			}
			values[i] = float32(i)
		}
		for i := range values {
			if values[i] != float32(i) {
				t.Fatalf("value %d is %v", i, values[i])
			}
		}
		if err := free(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestSpilledRefused(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Spilled(filepath.Join(dir, "none"), 5); err == nil {
		t.Error("a folder that is not there was taken")
	}
	_, _, err := Spilled(dir, 1<<50)
	if err == nil || !strings.Contains(err.Error(), "scratch space") || strings.Contains(err.Error(), "\n") {
		t.Errorf("more than the disk holds: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

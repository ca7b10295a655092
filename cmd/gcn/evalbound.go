package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
)

// inferenceBound returns the flags' values.
func inferenceBound(f run.Bound, device string) (layers.InferenceBound, error) {
	b := layers.InferenceBound{Scratch: f.Scratch}
	if f.Memory == "" && f.Scratch == "" {
		return b, nil
	}
	if device != "cpu" {
		return b, usagef("--memory and --scratch are for --device cpu")
	}
	var err error
	if f.Memory != "" {
		if b.Memory, err = parseBytes(f.Memory); err != nil {
			return b, usagef("--memory %s: %v", f.Memory, err)
		}
	}
	if f.Scratch != "" { // before the work, not after it
		info, err := os.Stat(f.Scratch)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("stat %s: not a folder", f.Scratch)
		}
		if err != nil {
			return b, fmt.Errorf("--scratch: %w", err)
		}
	}
	return b, nil
}

// limit makes the garbage collector keep to the memory of --memory, until the returned
// function is called.
func limit(b layers.InferenceBound) (restore func()) {
	if b.Memory == 0 {
		return func() {}
	}
	before := debug.SetMemoryLimit(b.Memory)
	return func() { debug.SetMemoryLimit(before) }
}

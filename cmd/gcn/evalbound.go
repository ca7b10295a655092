package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/layers"
)

// boundFlags bound the memory of inference. They do not change the results, and config.json
// does not hold them.
type boundFlags struct{ memory, scratch string }

func (f *boundFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.memory, "memory", "", "memory of an evaluation, beside a mapped store and the scores, such as `8GiB`; larger hidden layers lie in a file (default: no limit; with --scratch half of the memory, at most 8GiB)")
	fs.StringVar(&f.scratch, "scratch", "", "`DIR` of the files of hidden layers that do not fit in --memory, on a disk with room for them (default: with --memory the system's folder of temporary files)")
}

// bound returns the flags' values.
func (f *boundFlags) bound(device string) (layers.InferenceBound, error) {
	b := layers.InferenceBound{Scratch: f.scratch}
	if f.memory == "" && f.scratch == "" {
		return b, nil
	}
	if device != "cpu" {
		return b, usagef("--memory and --scratch are for --device cpu")
	}
	var err error
	if f.memory != "" {
		if b.Memory, err = parseBytes(f.memory); err != nil {
			return b, usagef("--memory %s: %v", f.memory, err)
		}
	}
	if f.scratch != "" { // before the work, not after it
		info, err := os.Stat(f.scratch)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("stat %s: not a folder", f.scratch)
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

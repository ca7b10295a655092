package memory

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestGroupLimit(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		root fstest.MapFS
		want uint64
	}{
		"none":        {fstest.MapFS{}, math.MaxUint64},
		"version 1":   {fstest.MapFS{"proc/self/cgroup": file("5:cpu,memory:/a/b\n3:cpu:/\n"), "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": file("9223372036854771712\n"), "sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("5000\n")}, 5000},
		"version 2":   {fstest.MapFS{"proc/self/cgroup": file("0::/u/s\n"), "sys/fs/cgroup/u/s/memory.max": file("max\n"), "sys/fs/cgroup/u/memory.max": file("700\n"), "sys/fs/cgroup/memory.max": file("900\n")}, 700},
		"container":   {fstest.MapFS{"proc/self/cgroup": file("0::/host/path/not/here\n"), "sys/fs/cgroup/memory.max": file("123\n")}, 123},
		"without any": {fstest.MapFS{"proc/self/cgroup": file("0::/\nnonsense\n"), "sys/fs/cgroup/memory.max": file("max\n")}, math.MaxUint64},
	} {
		if got := groupLimit(c.root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if limit := Limit(); limit < 1<<24 || limit == math.MaxUint64 {
		t.Errorf("this machine has %d bytes", limit)
	}
}

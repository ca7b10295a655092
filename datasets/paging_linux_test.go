package datasets

import (
	"math"
	"slices"
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
	if limit := memoryLimit(); limit < 1<<24 || limit == math.MaxUint64 {
		t.Errorf("this machine has %d bytes", limit)
	}
}

// TestScarceMemory reads rows of a store that is said to be larger than memory:
// what is prefetched and released stays what it is.
func TestScarceMemory(t *testing.T) {
	want := open(t, "synth:demo?nodes=8000&edges=9000&features=512")
	path := writeStoreFile(t, want)
	if d := open(t, "store:"+path); d.Features.Prefetch != nil {
		t.Error("16 MB are said to be more than fits in memory")
	}
	s, err := loadStore(path, true)
	if err != nil {
		t.Fatal(err)
	}
	s.scarce = true
	d, err := s.data()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	x := d.Features
	if x.Prefetch == nil {
		t.Fatal("no Prefetch")
	}
	x.Release()
	x.Prefetch(nil)
	for _, rows := range [][]int32{{0}, {7999}, {5, 6, 7, 4000, 5, 5, 0, 7999}} {
		x.Prefetch(rows)
		for _, i := range rows {
			if !slices.Equal(x.Row(int(i)), want.Features.Row(int(i))) {
				t.Errorf("row %d differs", i)
			}
		}
	}
	if !slices.Equal(x.Data, want.Features.Data) {
		t.Error("the features differ")
	}
}

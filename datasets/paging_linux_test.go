package datasets

import (
	"context"
	"slices"
	"testing"
)

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
	d, err := s.data(context.Background())
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

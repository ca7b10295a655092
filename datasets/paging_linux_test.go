package datasets

import (
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/store"
)

// TestLargeStore reads rows of a store that counts as larger than memory. Prefetching
// and releasing rows must not change them.
func TestLargeStore(t *testing.T) {
	want := open(t, "synth:demo?nodes=8000&edges=9000&features=512")
	path := writeStoreFile(t, want)
	if d := open(t, "store:"+path); d.Features.Prefetch != nil {
		t.Error("a store of 16 MB counts as larger than memory")
	}
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Large = true
	d, err := storedData(s)
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

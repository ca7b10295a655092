package datasets

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/half"
)

// A store with P·X holds P·X of its data, in the precision of the features. A store
// without it stays as it was.
func TestConvertPropagated(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	want := made(t, 300, 5)
	source := filepath.Join(dir, "32.store")
	if err := WriteStore(ctx, source, want); err != nil {
		t.Fatal(err)
	}
	dense, cols := want.Laplacian().Dense(), want.Features.Cols
	for _, p := range []bool{false, true} {
		path := filepath.Join(dir, "propagated.store")
		var stages []FetchProgress
		spec, err := Convert(ctx, "store:"+source, path, Options{Half: p, Propagated: true, Progress: func(f FetchProgress) { stages = append(stages, f) }})
		if err != nil {
			t.Fatal(err)
		}
		if last := stages[len(stages)-1]; last.Stage != "propagate" || last.Done != last.Total || last.Total != int64(4*300*cols) {
			t.Errorf("progress %+v", stages)
		}
		if err := verify(ctx, spec, Options{}); err != nil {
			t.Error(err)
		}
		d := open(t, spec)
		px := d.Propagated
		if px == nil || (px.Half != nil) != p {
			t.Fatalf("%v: propagated features %+v", p, px)
		}
		for v := range 300 {
			for j := range cols {
				var sum float64
				for u := range 300 {
					sum += dense[v*300+u] * float64(want.Features.Data[u*cols+j])
				}
				tolerance := 1e-5
				if p {
					tolerance = 1e-3 * max(1, sum, -sum)
				}
				if got := float64(px.Row(v)[j]); got-sum > tolerance || sum-got > tolerance {
					t.Fatalf("%v: P·X of node %d, column %d is %v, want %v", p, v, j, got, sum)
				}
			}
		}
		if !p {
			d.Propagated = nil
			sameData(t, d, want)
		}
		if scaled := open(t, spec+"?normalize=row"); scaled.Propagated != nil {
			t.Error("P·X of other features stays")
		}
	}
	if open(t, "store:"+source).Propagated != nil {
		t.Error("the source has P·X")
	}
	if _, err := Convert(ctx, "synth:demo?nodes=300&edges=900", filepath.Join(dir, "synth.store"), Options{Propagated: true}); err != nil {
		t.Error(err)
	}
}

// P·X of a wrong size, or not finite, is refused.
func TestPropagatedStoreDamaged(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "bad.store")
	if _, err := Convert(ctx, "synth:demo?nodes=300&edges=900", path, Options{Half: true, Propagated: true}); err != nil {
		t.Fatal(err)
	}
	good := readBytes(t, path)
	infinite := slices.Clone(good)
	copy(arrayIn(t, infinite, "propagated"), []byte{0, 0x7c})
	if value := half.Float32(0x7c00); value-value == 0 {
		t.Fatal("not infinite")
	}
	fixSums(infinite)
	write(t, path, infinite)
	if err := verify(ctx, "store:"+path, Options{}); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "feature 0 of node 0 is +Inf") {
		t.Errorf("an infinite value: %v", err)
	}
	cols := open(t, "synth:demo?nodes=300&edges=900").Features.Cols
	narrow := changedHeader(t, good, fmt.Sprintf(`"propagated":{"dtype":"F16","shape":[300,%d]`, cols), fmt.Sprintf(`"propagated":{"dtype":"F16","shape":[%d,300]`, cols))
	write(t, path, narrow)
	if _, err := Open(ctx, "store:"+path, Options{}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), fmt.Sprintf("propagated features of %d nodes", cols)) {
		t.Errorf("rows for columns: %v", err)
	}
}

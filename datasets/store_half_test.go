package datasets

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/half"
)

// rounded returns the features, rounded to float16.
func rounded(x *graph.Features) []float32 {
	var values []float32
	for _, v := range x.Float32s() {
		values = append(values, half.Float32(half.FromFloat32(v)))
	}
	return values
}

func TestConvertPrecision(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	want := made(t, 300, 5)
	for k := range want.Features.Data {
		want.Features.Data[k] *= 1.1 // so that float16 has to round
	}
	single, double := filepath.Join(dir, "32.store"), filepath.Join(dir, "16.store")
	if err := WriteStore(ctx, single, want); err != nil {
		t.Fatal(err)
	}
	convert := func(from, to string, p bool) *Data {
		t.Helper()
		spec, err := Convert(ctx, "store:"+from, to, Options{Half: p})
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(ctx, spec, Options{}); err != nil {
			t.Error(err)
		}
		return open(t, spec)
	}
	const note = "features rounded to float16"
	h := convert(single, double, true)
	if h.Features.Data != nil || !slices.Equal(h.Features.Float32s(), rounded(want.Features)) || slices.Equal(h.Features.Float32s(), want.Features.Data) {
		t.Error("the features are not the rounded ones")
	}
	if h.Notes[len(h.Notes)-1] != note || Describe(h).Precision != "float16" || Describe(h).Bytes.Features != 2*int64(len(want.Features.Data)) {
		t.Errorf("notes %q, %+v", h.Notes, Describe(h))
	}
	h.Features = want.Features
	sameData(t, h, want) // in everything else

	copied := convert(double, filepath.Join(dir, "16b.store"), false) // as they are
	if copied.Features.Half == nil || !slices.Equal(copied.Features.Float32s(), rounded(want.Features)) {
		t.Error("a copy is not in half precision, or differs")
	}
	again := convert(double, filepath.Join(dir, "16c.store"), true)
	if count := strings.Count(strings.Join(again.Notes, "\n"), note); count != 1 {
		t.Errorf("the note is there %d times: %q", count, again.Notes)
	}
	wide := made(t, 300, 5)
	wide.Features.Data = rounded(want.Features)
	if err := WriteStore(ctx, filepath.Join(dir, "32b.store"), wide); err != nil {
		t.Fatal(err)
	}

	// Readers of features accept either precision.
	for _, how := range []string{"row", "standardize"} {
		x, y := open(t, "store:"+double+"?normalize="+how), open(t, "store:"+filepath.Join(dir, "32b.store")+"?normalize="+how)
		if !slices.Equal(x.Features.Data, y.Features.Data) || slices.Equal(x.Features.Data, rounded(want.Features)) {
			t.Errorf("normalize=%s differs between precisions, or does nothing", how)
		}
	}
}

func TestConvertPrecisionErrors(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	d := made(t, 40, 5)
	cols := d.Features.Cols
	d.Features.Data[7*cols+2] = -65520
	source, target := filepath.Join(dir, "32.store"), filepath.Join(dir, "16.store")
	if err := WriteStore(ctx, source, d); err != nil {
		t.Fatal(err)
	}
	_, err := Convert(ctx, "store:"+source, target, Options{Half: true})
	if !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "16.store: feature 2 of node 7 is -65520, beyond the ±65504 of float16") {
		t.Errorf("out of range: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("something was left behind: %v", entries)
	}
}

// An infinite half, and numbers of another type, are refused.
func TestHalfStoreDamaged(t *testing.T) {
	good := readBytes(t, writeStoreFile(t, halved(t, made(t, 40, 5))))
	path := filepath.Join(t.TempDir(), "bad.store")
	infinite := slices.Clone(good)
	binary.LittleEndian.PutUint16(arrayIn(t, infinite, "feat")[2*(3*made(t, 40, 5).Features.Cols+1):], 0x7c00)
	fixSums(infinite)
	write(t, path, infinite)
	if err := verify(context.Background(), "store:"+path, Options{}); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "feature 1 of node 3 is +Inf") {
		t.Errorf("an infinite half: %v", err)
	}
	wrong := changedHeader(t, good, `"labels":{"dtype":"I32"`, `"labels":{"dtype":"U32"`)
	write(t, path, wrong)
	if _, err := Open(context.Background(), "store:"+path, Options{}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "labels: numbers of type U32") {
		t.Errorf("classes of another type: %v", err)
	}
}

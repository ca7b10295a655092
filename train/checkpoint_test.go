package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// sampleCheckpoint returns a checkpoint with every section, and values that a careless
// format would not keep, such as NaN.
func sampleCheckpoint() *checkpoint {
	values := func(k float32) []float32 {
		return []float32{k, -k, 0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, math.MaxFloat32, float32(math.Inf(1)), k / 3}
	}
	c := &checkpoint{sections: map[string][]float32{
		sectionParameters: values(1), sectionBest: values(2), sectionMoment1: values(3), sectionMoment2: values(4),
	}}
	c.Parameters = []parameterMeta{{"w", []int{2, 3}}, {"b", []int{2}}}
	c.Sections = []string{sectionParameters, sectionMoment1, sectionMoment2, sectionBest}
	c.State = runState{
		Seed: math.MaxUint64, Batch: 37, AdamSteps: 37, Evaluated: 30, LossSum: 1.0 / 3, Valid: 0.1, Best: number(math.Nextafter(0.7, 1)),
		BestBatch: 20, MetricsBytes: 123, Seconds: 1.5,
	}
	c.Config, _ = rundir.ThroughJSON(map[string]any{"seed": uint64(math.MaxUint64), "method": "ladies", "sizes": []int{1, 2}})
	return c
}

func encoded(t testing.TB, c *checkpoint) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sealed returns data with the right length and checksum.
func sealed(data []byte) []byte {
	if len(data) < checkpointHeader+sha256.Size {
		return data
	}
	data = slices.Clone(data)
	binary.LittleEndian.PutUint64(data[16:], uint64(len(data)))
	sum := sha256.Sum256(data[:len(data)-sha256.Size])
	copy(data[len(data)-sha256.Size:], sum[:])
	return data
}

func TestCheckpointRoundTrip(t *testing.T) {
	want := sampleCheckpoint()
	got, err := decodeCheckpoint(encoded(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back\n%+v\nwrote\n%+v", got, want)
	}
	for name, values := range want.sections {
		for i, v := range values {
			if math.Float32bits(got.sections[name][i]) != math.Float32bits(v) {
				t.Errorf("%s[%d] is %v, wrote %v", name, i, got.sections[name][i], v)
			}
		}
	}
	want.State.Best = number(math.NaN())
	if got, err = decodeCheckpoint(encoded(t, want)); err != nil || !math.IsNaN(float64(got.State.Best)) {
		t.Errorf("a best score of NaN reads as %v, %v", got.State.Best, err)
	}
	want.sections[sectionBest] = want.sections[sectionBest][1:]
	if err := want.write(new(bytes.Buffer)); err == nil {
		t.Error("a section too short was written")
	}
}

// TestCheckpointDamage cuts a file at every length, and flips a bit of every byte: each
// file must give an error that names the damage.
func TestCheckpointDamage(t *testing.T) {
	good := encoded(t, sampleCheckpoint())
	check := func(data []byte, what string, words ...string) {
		t.Helper()
		c, err := decodeCheckpoint(data)
		if !errors.Is(err, ErrCheckpoint) {
			t.Fatalf("%s: %v, %v", what, c, err)
		}
		for _, w := range words {
			if strings.Contains(err.Error(), w) {
				return
			}
		}
		t.Fatalf("%s: error %q, want one of %q in it", what, err, words)
	}
	for n := range good {
		check(good[:n], "cut", "truncated")
	}
	check(append(slices.Clone(good), 0), "one byte more", "damaged")
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		check(bad, "flipped", "damaged", "some other kind", "newer program", "truncated")
	}
	newer := slices.Clone(good)
	newer[8] = 2
	check(sealed(newer), "version 2", "format version 2, written by a newer program; this one reads version 1")
	check([]byte("PK\x03\x04 a zip"), "zip", "some other kind of file")
	check(nil, "empty", "truncated: 0 bytes")
}

// TestCheckpointWrongDescription reads files with a right checksum whose description
// does not fit their contents.
func TestCheckpointWrongDescription(t *testing.T) {
	for want, change := range map[string]func(*checkpointMeta){
		"shape [-2 -3]": func(m *checkpointMeta) { m.Parameters[0].Shape = []int{-2, -3} },
		fmt.Sprintf("has shape [%d", math.MaxInt/2): func(m *checkpointMeta) { m.Parameters[0].Shape = []int{math.MaxInt / 2, 4} },

		"of 9 parameters": func(m *checkpointMeta) { m.Parameters[1].Shape = []int{3} },
		"for 3 sections":  func(m *checkpointMeta) { m.Sections = m.Sections[1:] },
		"for 0 sections":  func(m *checkpointMeta) { m.Sections = nil },
		"occurs twice":    func(m *checkpointMeta) { m.Sections[1] = m.Sections[0] },
		"no parameters":   func(m *checkpointMeta) { m.Sections[0] = "other" },
	} {
		c := sampleCheckpoint()
		data := encoded(t, c)
		meta := binary.LittleEndian.Uint32(data[12:])
		body := data[checkpointHeader+meta : len(data)-sha256.Size]
		change(&c.checkpointMeta)
		text, err := json.Marshal(c.checkpointMeta)
		if err != nil {
			t.Fatal(err)
		}
		binary.LittleEndian.PutUint32(data[12:], uint32(len(text)))
		data = slices.Concat(data[:checkpointHeader], text, body, make([]byte, sha256.Size))
		data = sealed(data)
		if _, err := decodeCheckpoint(data); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestLoadParameters(t *testing.T) {
	d := smallData(t, 60, 3)
	m := smallModel(t, d)
	dir := t.TempDir()
	if _, err := Fit(t.Context(), m, d, Options{MaxBatches: 25, Batch: 16, Dir: dir, Config: map[string]any{"hidden": 16}}); err != nil {
		t.Fatal(err)
	}
	want := weightsOf(t, m)
	for _, path := range []string{dir, filepath.Join(dir, bestFile)} {
		fresh := smallModel(t, d)
		info, err := LoadParameters(path, fresh)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(weightsOf(t, fresh), want) {
			t.Errorf("%s: not the parameters that Fit left in the model", path)
		}
		if info.Batch == 0 || !(info.Best > 0) || info.Config["hidden"] == nil {
			t.Errorf("%s: %+v", path, info)
		}
	}
	// A run that is killed between writing last.ckpt and best.ckpt has no best.ckpt.
	if err := os.Remove(filepath.Join(dir, bestFile)); err != nil {
		t.Fatal(err)
	}
	fresh := smallModel(t, d)
	if _, err := LoadParameters(dir, fresh); err != nil || !slices.Equal(weightsOf(t, fresh), want) {
		t.Errorf("without best.ckpt: error %v, or wrong parameters", err)
	}
	other := modelOver(t, d, m.Batch.Sampler(), 8)
	before := weightsOf(t, other)
	if _, err := LoadParameters(dir, other); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), `"conv0.weight" has shape [12 16], the model's has [12 8]`) {
		t.Errorf("narrower model: error %v", err)
	}
	if !slices.Equal(weightsOf(t, other), before) {
		t.Error("a failed load changed the model")
	}
	fewer := smallModel(t, d)
	fewer.Parameters = fewer.Parameters[:3]
	if _, err := LoadParameters(dir, fewer); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("fewer parameters: error %v", err)
	}
	if _, err := LoadParameters(filepath.Join(dir, "none.ckpt"), other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: error %v", err)
	}
}

// FuzzCheckpoint decodes any bytes, with and without a right checksum. Each must give an
// error, or a checkpoint that is written as the same bytes.
func FuzzCheckpoint(f *testing.F) {
	good := encoded(f, sampleCheckpoint())
	f.Add(good)
	f.Add(good[:40])
	f.Add([]byte(checkpointMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, sealed(data)} {
			c, err := decodeCheckpoint(data)
			if err != nil {
				if !errors.Is(err, ErrCheckpoint) {
					t.Fatalf("error %v does not wrap ErrCheckpoint", err)
				}
				continue
			}
			again, err := decodeCheckpoint(encoded(t, c))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(encoded(t, c), encoded(t, again)) {
				t.Fatal("reading and writing changes the file")
			}
		}
	})
}

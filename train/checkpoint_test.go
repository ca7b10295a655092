package train

import (
	"bytes"
	"encoding/binary"
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
	"github.com/gcn-layerwise/gcn/internal/weights"
)

// sampleCheckpoint returns a checkpoint with every section, and values that a careless
// format would not keep, such as NaN.
func sampleCheckpoint() *checkpoint {
	values := func(k float32) []float32 {
		return []float32{k, -k, 0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, math.MaxFloat32, float32(math.Inf(1)), k / 3}
	}
	params := []parameter{{Name: "w", Shape: []int{2, 3}, values: make([]float32, 6)}, {Name: "b", Shape: []int{2}, values: make([]float32, 2)}}
	c := new(checkpoint)
	for k, section := range []string{sectionParameters, sectionMoment1, sectionMoment2, sectionBest} {
		c.tensors = append(c.tensors, sectionOf(section, params, values(float32(k+1)))...)
	}
	c.State = runState{
		Seed: math.MaxUint64, Batch: 37, AdamSteps: 37, Evaluated: 30, LossSum: 1.0 / 3, Valid: 0.1, Best: number(math.Nextafter(0.7, 1)),
		BestBatch: 20, Seconds: 1.5,
	}
	c.Evaluations = evaluations{{Batch: 20, Epoch: 2, Loss: 1.0 / 3, Valid: 0.7, Best: true, Seconds: 1.25}}
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

// sealed returns data with the right checksum.
func sealed(data []byte) []byte {
	tensors, metadata, err := weights.Decode(data)
	if err != nil || metadata["sha256"] == "" {
		return data
	}
	c := checkpoint{tensors: tensors}
	return bytes.Replace(data, []byte(metadata["sha256"]), []byte(c.digest(metadata["run"])), 1)
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
	for k, tensor := range want.tensors {
		for i, v := range tensor.Values {
			if math.Float32bits(got.tensors[k].Values[i]) != math.Float32bits(v) {
				t.Errorf("%s[%d] is %v, wrote %v", tensor.Name, i, got.tensors[k].Values[i], v)
			}
		}
	}
	want.State.Best, want.Evaluations[0].Valid = number(math.NaN()), math.NaN()
	if got, err = decodeCheckpoint(encoded(t, want)); err != nil || !math.IsNaN(float64(got.State.Best)) || !math.IsNaN(got.Evaluations[0].Valid) {
		t.Errorf("scores of NaN read as %v and %v, %v", got.State.Best, got.Evaluations[0].Valid, err)
	}
	// Any program that knows safetensors can read the values by their names.
	path := filepath.Join(t.TempDir(), "best.safetensors")
	if err := os.WriteFile(path, encoded(t, want), 0o666); err != nil {
		t.Fatal(err)
	}
	tensors, err := weights.Read(t.Context(), path)
	if err != nil || len(tensors) != 8 || tensors[0].Name != "parameters/w" || !slices.Equal(tensors[0].Shape, []int{2, 3}) || tensors[7].Name != "best/b" {
		t.Errorf("as safetensors: %v, %v", tensors, err)
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
		check(bad, "flipped", "damaged", "some other kind", "its schema is", "truncated")
	}
	for _, schema := range []int{0, rundir.Schema - 1, rundir.Schema + 1} {
		other := bytes.Replace(good, fmt.Appendf(nil, `"schema":"%d"`, rundir.Schema), fmt.Appendf(nil, `"schema":"%d"`, schema), 1)
		check(other, "another schema", fmt.Sprintf("its schema is %d and this program's is %d: train again", schema, rundir.Schema))
	}
	check([]byte("PK\x03\x04 a zip"), "zip", "some other kind of file")
	check(nil, "empty", "truncated, damaged, or some other kind of file: not a usable file of weights: its 0 bytes")
}

// TestCheckpointWrongDescription reads files with a right checksum whose description
// does not fit their contents.
func TestCheckpointWrongDescription(t *testing.T) {
	data := encoded(t, sampleCheckpoint())
	for change, want := range map[[2]string]string{
		{`"shape":[2,3]`, `"shape":[3,3]`}:                   "shape [3 3]",
		{`"shape":[2,3]`, `"shape":[-2,-3]`}:                 "shape [-2 -3]",
		{`"shape":[2,3]`, `"shape":[4611686018427387904,4]`}: "shape [4611686018427387904 4]",
		{`[0,24]`, `[0,28]`}:                                 "the bytes 0 to 28",
		{`"best/b"`, `"best/w"`}:                             "the tensors before it end at",
		{`"F32"`, `"U32"`}:                                   `is of type "U32"`,
		{`\"batch\":37`, `\"batch\":38`}:                     "checksum",
		{`"parameters/`, `"other/`}:                          "no parameters",
	} {
		header := data[8 : 8+binary.LittleEndian.Uint64(data)]
		text := bytes.ReplaceAll(header, []byte(change[0]), []byte(change[1]))
		if bytes.Equal(text, header) {
			t.Fatalf("%s is not in %s", change[0], header)
		}
		wrong := slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data[8+len(header):])
		if want != "checksum" {
			wrong = sealed(wrong)
		}
		if _, err := decodeCheckpoint(wrong); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	c := sampleCheckpoint()
	c.tensors = append(c.tensors, c.tensors[0])
	if err := c.write(new(bytes.Buffer)); err == nil {
		if _, err := decodeCheckpoint(encoded(t, c)); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("a name twice: error %v", err)
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
	if _, err := LoadParameters(dir, other); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), `conv0.weight [12 16], the model's is best/conv0.weight [12 8]`) {
		t.Errorf("narrower model: error %v", err)
	}
	if !slices.Equal(weightsOf(t, other), before) {
		t.Error("a failed load changed the model")
	}
	fewer := smallModel(t, d)
	fewer.Parameters = fewer.Parameters[:3]
	if _, err := LoadParameters(dir, fewer); err == nil || !strings.Contains(err.Error(), "the model's is missing") {
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
	f.Add([]byte(checkpointFormat))
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

// valuesOf returns a section's values, one tensor after the other.
func valuesOf(c *checkpoint, section string) (values []float32) {
	for _, t := range c.section(section) {
		values = append(values, t.Values...)
	}
	return values
}

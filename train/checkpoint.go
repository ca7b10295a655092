package train

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/internal/weights"
	"github.com/gcn-layerwise/gcn/layers"
)

// A checkpoint is a safetensors file. Its metadata are texts:
//
//	format   checkpointFormat
//	run      JSON: the state of the run, and its configuration
//	schema   rundir.Schema
//	sha256   of the text of the run, and the names, shapes and values of the tensors
//
// A tensor is named by its section and its own name, such as best/conv0.weight.
const checkpointFormat = "gcn checkpoint"

// ErrCheckpoint is wrapped by errors about the contents of a checkpoint file.
var ErrCheckpoint = errors.New("not a usable checkpoint")

// The sections. All but the last hold a tensor for each parameter.
const (
	sectionParameters = "parameters/"
	sectionBest       = "best/"
	sectionMoment1    = "adam-m/"
	sectionMoment2    = "adam-v/"
	sectionStates     = "states/"
)

// checkpoint is a checkpoint file in memory.
type checkpoint struct {
	State       runState       `json:"state"`
	Evaluations evaluations    `json:"evaluations,omitempty"` // so far
	Config      map[string]any `json:"config"`
	tensors     []weights.Tensor
}

// evaluations are null in JSON where they are not finite.
type evaluations []Evaluation

func (e evaluations) MarshalJSON() ([]byte, error) { return finite.JSON([]Evaluation(e)).MarshalJSON() }

func (e *evaluations) UnmarshalJSON(text []byte) error {
	return finite.Unmarshal(text, (*[]Evaluation)(e))
}

// number is a float64 that is null in JSON if it is not finite.
type number = finite.Number

// sectionOf returns a section of values of all parameters, one after the other; nil means the
// parameters themselves. The tensors share the memory of the values.
func sectionOf(section string, params []parameter, values []float32) (tensors []weights.Tensor) {
	for _, p := range params {
		if values != nil {
			p.values, values = values[:len(p.values)], values[len(p.values):]
		}
		tensors = append(tensors, weights.Tensor{Name: section + p.Name, Shape: p.Shape, Values: p.values})
	}
	return tensors
}

// statesOf returns the section of states.
func statesOf(states []layers.State) (tensors []weights.Tensor) {
	for _, s := range states {
		tensors = append(tensors, weights.Tensor{Name: sectionStates + s.Name, Shape: []int{len(s.Values)}, Values: s.Values})
	}
	return tensors
}

// write writes c in the format above.
func (c *checkpoint) write(w io.Writer) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	metadata := map[string]string{"format": checkpointFormat, "run": string(text), "schema": strconv.Itoa(rundir.Schema), "sha256": c.digest(string(text))}
	return weights.Encode(w, metadata, c.tensors)
}

// digest returns the checksum of c; text is the JSON of the run.
func (c *checkpoint) digest(text string) string {
	sum := sha256.New()
	io.WriteString(sum, text)
	for _, t := range c.tensors {
		fmt.Fprintf(sum, "%q %v", t.Name, t.Shape)
		npy.WriteValues(sum, t.Values)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// decodeCheckpoint reads the format of write. Errors wrap ErrCheckpoint.
func decodeCheckpoint(data []byte) (*checkpoint, error) {
	bad := func(format string, args ...any) (*checkpoint, error) {
		return nil, fmt.Errorf("%w: %s", ErrCheckpoint, fmt.Sprintf(format, args...))
	}
	tensors, metadata, err := weights.Decode(data)
	c := &checkpoint{tensors: tensors}
	switch schema := metadata["schema"]; {
	case err != nil:
		return bad("truncated, damaged, or some other kind of file: %v", err)
	case metadata["format"] != checkpointFormat:
		return bad("some other kind of file")
	case schema != strconv.Itoa(rundir.Schema):
		return bad("%v", rundir.SchemaError(schema))
	case metadata["sha256"] != c.digest(metadata["run"]):
		return bad("damaged: the checksum does not match")
	}
	decoder := json.NewDecoder(strings.NewReader(metadata["run"]))
	decoder.UseNumber() // in the configuration, where seeds have 64 bits
	if err := decoder.Decode(c); err != nil {
		return bad("damaged description: %v", err)
	}
	if !c.has(sectionParameters) {
		return bad("it has no parameters")
	}
	return c, nil
}

// readCheckpoint reads a checkpoint file. Errors name the file.
func readCheckpoint(path string) (*checkpoint, error) { return readFile(path, decodeCheckpoint) }

// section returns the tensors of a section.
func (c *checkpoint) section(section string) (tensors []weights.Tensor) {
	for _, t := range c.tensors {
		if strings.HasPrefix(t.Name, section) {
			tensors = append(tensors, t)
		}
	}
	return tensors
}

// has reports whether c has the section.
func (c *checkpoint) has(section string) bool { return len(c.section(section)) > 0 }

// sameTensors returns an error unless the tensors of a checkpoint have the names and shapes of a
// model's.
func sameTensors(tensors, model []weights.Tensor) error {
	text := func(all []weights.Tensor, k int) string {
		if k >= len(all) {
			return "missing"
		}
		return fmt.Sprintf("%s %v", all[k].Name, all[k].Shape)
	}
	for k := range max(len(tensors), len(model)) {
		if got, want := text(tensors, k), text(model, k); got != want {
			return fmt.Errorf("it holds %d tensors, the model %d: number %d is %s, the model's is %s", len(tensors), len(model), k, got, want)
		}
	}
	return nil
}

// copyTensors copies the values of the same tensors.
func copyTensors(to, from []weights.Tensor) {
	for k, t := range from {
		copy(to[k].Values, t.Values)
	}
}

// checkFinite returns an error for the first tensor with a value that is not finite.
func checkFinite(tensors []weights.Tensor) error {
	for _, t := range tensors {
		if !kernel.Finite(t.Values) {
			return fmt.Errorf("tensor %q has values that are not finite", t.Name)
		}
	}
	return nil
}

// CheckpointInfo describes a checkpoint.
type CheckpointInfo struct {
	Batch  int            // number of steps that led to the parameters
	Best   float64        // best validation score; NaN if there is none
	Seed   uint64         // seed of the run
	Config map[string]any // Fit's settings and Options.Config, numbers as json.Number
}

// LoadParameters reads m's parameters from a checkpoint file. If path is a run's folder,
// it reads the parameters with the best validation score. Names, shapes and order of the
// parameters must be the model's, and the values finite. An error names the file, and leaves the
// model unchanged.
func LoadParameters(path string, m Model) (CheckpointInfo, error) {
	params, err := parametersOf(m)
	if err != nil {
		return CheckpointInfo{}, err
	}
	section := sectionParameters
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir := path
		path = filepath.Join(dir, rundir.BestFile)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) { // killed before it was written
			path, section = filepath.Join(dir, rundir.LastFile), sectionBest
		}
	}
	c, err := readCheckpoint(path)
	if err != nil {
		return CheckpointInfo{}, err
	}
	batch := c.State.BestBatch
	if section != sectionBest || !c.has(section) { // the run may have no evaluation yet
		section, batch = sectionParameters, c.State.Batch
	}
	tensors, model := c.section(section), sectionOf(section, params, nil)
	if err := cmp.Or(sameTensors(tensors, model), checkFinite(tensors)); err != nil {
		return CheckpointInfo{}, fmt.Errorf("train: %s: %w: %w", path, ErrCheckpoint, err)
	}
	copyTensors(model, tensors)
	return CheckpointInfo{Batch: batch, Best: float64(c.State.Best), Seed: c.State.Seed, Config: c.Config}, nil
}

// SaveRun makes the folder of a run whose parameters were not trained by Fit, such as
// imported ones: config.json with the caller's fields, and best.ckpt. LoadParameters reads
// it. A folder that holds a run is refused with ErrRunExists.
func SaveRun(dir string, m Model, d *datasets.Data, config map[string]any) (err error) {
	if err := checkParts(d); err != nil {
		return err
	}
	params, err := parametersOf(m)
	if err != nil {
		return err
	}
	nan := number(math.NaN())
	c := &checkpoint{State: runState{Best: nan, Valid: nan}, tensors: sectionOf(sectionParameters, params, nil)}
	if err := checkFinite(c.tensors); err != nil {
		return fmt.Errorf("train: %s: %w", dir, err)
	}
	if c.Config, err = withConfig(map[string]any{}, config, derivedConfiguration(params, d, Fingerprint(d))); err != nil {
		return err
	}
	r, err := openRunDir(dir, Options{})
	if err != nil {
		return err
	}
	defer func() { err = join(err, r.close()) }()
	if err := r.begin(Options{}, c.Config, d, nil); err != nil {
		return err
	}
	return named(r.folder.Write(rundir.BestFile, c.write))
}

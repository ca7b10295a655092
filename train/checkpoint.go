package train

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
)

// A checkpoint file is, little-endian throughout:
//
//	magic      8 bytes  "GCNCKPT\n"
//	version    uint32   1
//	meta       uint32   length of the JSON that follows
//	total      uint64   length of the file
//	JSON       checkpointMeta: names, shapes, state, configuration
//	sections   float32s, in the order of the JSON's list
//	states     float32s, in the order of the JSON's list; a model may have none
//	SHA-256    32 bytes, of everything before
const (
	checkpointMagic   = "GCNCKPT\n"
	checkpointVersion = 1
	checkpointHeader  = 24
)

// ErrCheckpoint is wrapped by errors about the contents of a checkpoint file.
var ErrCheckpoint = errors.New("not a usable checkpoint")

// The names of sections.
const (
	sectionParameters = "parameters"
	sectionBest       = "best"
	sectionMoment1    = "adam-m"
	sectionMoment2    = "adam-v"
)

type parameterMeta struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

func (p parameterMeta) size() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

type checkpointMeta struct {
	Parameters []parameterMeta `json:"parameters"`
	Sections   []string        `json:"sections"` // each as long as all parameters together
	States     []stateMeta     `json:"states,omitempty"`
	State      runState        `json:"state"`
	Config     map[string]any  `json:"config"`
}

// stateMeta describes a layers.State.
type stateMeta struct {
	Name   string `json:"name"`
	Values int    `json:"values"`
}

// checkpoint is a checkpoint file in memory.
type checkpoint struct {
	checkpointMeta
	sections map[string][]float32
	states   [][]float32 // in the order of States
}

// number is a float64 that is null in JSON if it is not finite.
type number = finite.Number

// write writes c in the format above.
func (c *checkpoint) write(w io.Writer) error {
	meta, err := json.Marshal(&c.checkpointMeta)
	if err != nil {
		return err
	}
	size := 0
	for _, p := range c.Parameters {
		size += p.size()
	}
	values := size * len(c.Sections)
	for _, state := range c.States {
		values += state.Values
	}
	total := checkpointHeader + len(meta) + 4*values + sha256.Size
	sum := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	header := make([]byte, 0, checkpointHeader)
	header = append(header, checkpointMagic...)
	header = binary.LittleEndian.AppendUint32(header, checkpointVersion)
	header = binary.LittleEndian.AppendUint32(header, uint32(len(meta)))
	header = binary.LittleEndian.AppendUint64(header, uint64(total))
	buffered.Write(header)
	buffered.Write(meta)
	for _, name := range c.Sections {
		if len(c.sections[name]) != size {
			return fmt.Errorf("section %s holds %d values, want %d", name, len(c.sections[name]), size)
		}
		writeFloats(buffered, c.sections[name])
	}
	for k, state := range c.States {
		if len(c.states[k]) != state.Values {
			return fmt.Errorf("state %s holds %d values, want %d", state.Name, len(c.states[k]), state.Values)
		}
		writeFloats(buffered, c.states[k])
	}
	if err := buffered.Flush(); err != nil { // the first error of all writes
		return err
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// writeFloats writes values to w. Flush returns the errors of w's writes.
func writeFloats(w *bufio.Writer, values []float32) {
	var chunk [4096]byte
	for len(values) > 0 {
		n := min(len(values), len(chunk)/4)
		for i, v := range values[:n] {
			binary.LittleEndian.PutUint32(chunk[4*i:], math.Float32bits(v))
		}
		w.Write(chunk[:4*n])
		values = values[n:]
	}
}

// decodeCheckpoint reads the format of write. Errors wrap ErrCheckpoint.
func decodeCheckpoint(data []byte) (*checkpoint, error) {
	bad := func(format string, args ...any) (*checkpoint, error) {
		return nil, fmt.Errorf("%w: %s", ErrCheckpoint, fmt.Sprintf(format, args...))
	}
	magic := data[:min(len(data), len(checkpointMagic))]
	if !bytes.Equal(magic, []byte(checkpointMagic)[:len(magic)]) {
		return bad("it is some other kind of file")
	}
	if len(data) < checkpointHeader+sha256.Size {
		return bad("truncated: %d bytes", len(data))
	}
	version := binary.LittleEndian.Uint32(data[8:])
	metaLen := uint64(binary.LittleEndian.Uint32(data[12:]))
	total := binary.LittleEndian.Uint64(data[16:])
	switch size := uint64(len(data)); {
	case version > checkpointVersion:
		return bad("it has format version %d, written by a newer program; this one reads version %d", version, checkpointVersion)
	case version < checkpointVersion:
		return bad("damaged: format version %d", version)
	case size < total:
		return bad("truncated: %d of %d bytes", size, total)
	case size > total:
		return bad("damaged: %d bytes, want %d", size, total)
	case metaLen > size-checkpointHeader-sha256.Size:
		return bad("damaged: a description of %d bytes in a file of %d", metaLen, size)
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if sha256.Sum256(body) != [sha256.Size]byte(sum) {
		return bad("damaged: the checksum does not match")
	}
	c := &checkpoint{sections: map[string][]float32{}}
	decoder := json.NewDecoder(bytes.NewReader(body[checkpointHeader : checkpointHeader+metaLen]))
	decoder.UseNumber() // in the configuration, where seeds have 64 bits
	if err := decoder.Decode(&c.checkpointMeta); err != nil {
		return bad("damaged description: %v", err)
	}
	c.Config = rundir.Upgrade(c.Config)
	body = body[checkpointHeader+metaLen:]
	return c, c.readSections(body)
}

// readSections decodes c.sections and c.states from body, which must hold exactly
// these values.
func (c *checkpoint) readSections(body []byte) error {
	size := 0
	for k, p := range c.Parameters {
		// One dimension at a time, so that no product overflows.
		n := 1
		for _, d := range p.Shape {
			if d < 0 || n > 0 && d > len(body)/n {
				return fmt.Errorf("%w: parameter %d, %q, has shape %v in a file with %d bytes of values", ErrCheckpoint, k, p.Name, p.Shape, len(body))
			}
			n *= d
		}
		size += n
	}
	states := 0
	for k, s := range c.States {
		if s.Values < 0 || s.Values > len(body)/4-states {
			return fmt.Errorf("%w: state %d, %q, has %d values in a file with %d bytes of values", ErrCheckpoint, k, s.Name, s.Values, len(body))
		}
		states += s.Values
	}
	if len(c.Sections) == 0 || size > len(body)/4/len(c.Sections) || 4*(size*len(c.Sections)+states) != len(body) {
		return fmt.Errorf("%w: %d bytes of values for %d sections of %d parameters and states of %d values", ErrCheckpoint, len(body), len(c.Sections), size, states)
	}
	for _, name := range c.Sections {
		if c.sections[name] != nil {
			return fmt.Errorf("%w: section %q occurs twice", ErrCheckpoint, name)
		}
		c.sections[name], body = readFloats(body, size)
	}
	for _, s := range c.States {
		var values []float32
		values, body = readFloats(body, s.Values)
		c.states = append(c.states, values)
	}
	if c.sections[sectionParameters] == nil {
		return fmt.Errorf("%w: it has no parameters", ErrCheckpoint)
	}
	return nil
}

// readFloats returns the first n values of body, and the rest of body.
func readFloats(body []byte, n int) ([]float32, []byte) {
	values := make([]float32, n)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
	}
	return values, body[4*n:]
}

// readCheckpoint reads a checkpoint file. Errors name the file.
func readCheckpoint(path string) (*checkpoint, error) {
	data, err := regularfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	c, err := decodeCheckpoint(data)
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", path, err)
	}
	return c, nil
}

// checkParameters returns an error for the first parameter of the checkpoint whose name
// or shape is not the model's.
func (c *checkpoint) checkParameters(want []parameterMeta) error {
	for k, w := range want {
		if k >= len(c.Parameters) {
			return fmt.Errorf("it holds %d parameters, the model has %d: %q is missing", len(c.Parameters), len(want), w.Name)
		}
		switch got := c.Parameters[k]; {
		case got.Name != w.Name:
			return fmt.Errorf("parameter %d is %q, the model's is %q", k, got.Name, w.Name)
		case !slices.Equal(got.Shape, w.Shape):
			return fmt.Errorf("parameter %q has shape %v, the model's has %v", w.Name, got.Shape, w.Shape)
		}
	}
	if len(c.Parameters) > len(want) {
		return fmt.Errorf("it holds %d parameters, the model has %d: %q is too many", len(c.Parameters), len(want), c.Parameters[len(want)].Name)
	}
	return nil
}

// checkFinite returns an error for the first value of a section that is not finite.
func (c *checkpoint) checkFinite(section string) error {
	values := c.sections[section]
	for _, p := range c.Parameters {
		of := values[:p.size()]
		values = values[len(of):]
		if kernel.Finite(of) {
			continue
		}
		k := slices.IndexFunc(of, func(v float32) bool { return !kernel.Finite([]float32{v}) })
		return fmt.Errorf("value %d of parameter %q is %v", k, p.Name, of[k])
	}
	return nil
}

// checkConfig returns an error if the config.json in a run's folder differs from the
// checkpoint's configuration.
func (c *checkpoint) checkConfig(dir string) error {
	config, err := ReadConfig(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := rundir.SameConfig(c.Config, config, mayChange...); err != nil {
		return fmt.Errorf("it belongs to another run than %s: %w", filepath.Join(dir, configFile), err)
	}
	return nil
}

// addStates puts the model's states into c, without copying them.
func (c *checkpoint) addStates(states []layers.State) {
	for _, s := range states {
		c.States = append(c.States, stateMeta{Name: s.Name, Values: len(s.Values)})
		c.states = append(c.states, s.Values)
	}
}

// checkStates returns an error for the first state of the checkpoint that differs from
// the model's in name or size.
func (c *checkpoint) checkStates(want []layers.State) error {
	if len(c.States) != len(want) {
		return fmt.Errorf("it holds %d states, the model has %d", len(c.States), len(want))
	}
	for k, w := range want {
		if got := c.States[k]; got.Name != w.Name || got.Values != len(w.Values) {
			return fmt.Errorf("state %d is %q of %d values, the model's is %q of %d", k, got.Name, got.Values, w.Name, len(w.Values))
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
// it reads the parameters with the best validation score; a config.json in the folder
// must belong to the same run. Names, shapes and order of the parameters must be the
// model's, and the values finite. An error names the file, and leaves the model
// unchanged.
func LoadParameters(path string, m Model) (CheckpointInfo, error) {
	parts, err := partsOf(m)
	if err != nil {
		return CheckpointInfo{}, err
	}
	params, err := parametersOf(parts)
	if err != nil {
		return CheckpointInfo{}, err
	}
	section, dir := sectionParameters, ""
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir = path
		path = filepath.Join(dir, bestFile)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			path, section = filepath.Join(dir, lastFile), sectionBest
		}
	}
	c, err := readCheckpoint(path)
	if err != nil {
		return CheckpointInfo{}, err
	}
	if dir != "" {
		if err := c.checkConfig(dir); err != nil {
			return CheckpointInfo{}, fmt.Errorf("train: %s: %w: %w", path, ErrCheckpoint, err)
		}
	}
	metas := make([]parameterMeta, len(params))
	for k, p := range params {
		metas[k] = p.parameterMeta
	}
	if err := c.checkParameters(metas); err != nil {
		return CheckpointInfo{}, fmt.Errorf("train: %s: %w: %w", path, ErrCheckpoint, err)
	}
	values, batch := c.sections[section], c.State.Batch
	if section == sectionBest {
		batch = c.State.BestBatch
		if values == nil { // the run has no evaluation yet
			section, batch = sectionParameters, c.State.Batch
			values = c.sections[section]
		}
	}
	if err := c.checkFinite(section); err != nil {
		return CheckpointInfo{}, fmt.Errorf("train: %s: %w: %w", path, ErrCheckpoint, err)
	}
	for _, p := range params {
		copy(p.values, values)
		values = values[len(p.values):]
	}
	return CheckpointInfo{Batch: batch, Best: float64(c.State.Best), Seed: c.State.Seed, Config: c.Config}, nil
}

// parameterCheckpoint returns a checkpoint of parameters alone, for the given folder.
func parameterCheckpoint(dir string, params []parameter) (*checkpoint, error) {
	c := &checkpoint{
		checkpointMeta: checkpointMeta{Sections: []string{sectionParameters}, State: runState{Best: number(math.NaN()), Valid: number(math.NaN())}},
		sections:       map[string][]float32{},
	}
	for _, p := range params {
		c.Parameters = append(c.Parameters, p.parameterMeta)
		c.sections[sectionParameters] = append(c.sections[sectionParameters], p.values...)
	}
	if err := c.checkFinite(sectionParameters); err != nil {
		return nil, fmt.Errorf("train: %s: %w", dir, err)
	}
	return c, nil
}

// SaveRun makes the folder of a run whose parameters were not trained by Fit, such as
// imported ones: config.json with the caller's fields, and best.ckpt. LoadParameters reads
// it. A folder that holds a run is refused with ErrRunExists.
func SaveRun(dir string, m Model, d *datasets.Data, config map[string]any) (err error) {
	if err := checkParts(d); err != nil {
		return err
	}
	parts, err := partsOf(m)
	if err != nil {
		return err
	}
	params, err := parametersOf(parts)
	if err != nil {
		return err
	}
	c, err := parameterCheckpoint(dir, params)
	if err != nil {
		return err
	}
	if c.Config, err = withConfig(derivedConfiguration(params, d, Fingerprint(d)), config); err != nil {
		return err
	}
	r, err := openRunDir(dir, Options{}, c.Config, nil)
	if err != nil {
		return err
	}
	defer func() { err = join(err, r.close()) }()
	return r.saveCheckpoint(bestFile, c)
}

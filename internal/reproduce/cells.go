package reproduce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/filelock"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
)

// kind is the kind of a cell's result.
type kind string

// The kinds; see work.
const (
	dataCell       kind = "data"
	trainCell      kind = "train"
	regressionCell kind = "regression"
	errorCell      kind = "error"
	samplingCell   kind = "sampling"
	stepCell       kind = "step"
	scalingCell    kind = "scaling"
)

// timed reports whether a cell of this kind holds times, and so depends on the machine and
// its other work.
func (k kind) timed() bool { return k == samplingCell || k == stepCell || k == scalingCell }

// work is how the cells of a kind are computed from the open data.
type work struct {
	result  any // an empty one
	compute func(*runner, context.Context, key) (any, error)
}

// work returns the work of a kind.
func (k kind) work() work {
	return map[kind]work{
		dataCell:       {new(datasets.Info), (*runner).describe},
		trainCell:      {new(trainResult), (*runner).train},
		regressionCell: {new(regressionResult), (*runner).regress},
		errorCell:      {new(study.ErrorTable), (*runner).errors},
		samplingCell:   {new(timeResult), (*runner).timeSampling},
		stepCell:       {new(timeResult), (*runner).timeSteps},
		scalingCell:    {new(scalingResult), (*runner).scale},
	}[k]
}

// key names a cell. It has everything that the result depends on but the machine. Fields that
// its kind does not need are zero.
type key struct {
	Kind        kind   `json:"kind"`
	Data        string `json:"data"`                  // SPEC
	Fingerprint string `json:"fingerprint,omitempty"` // of the data: the data of one SPEC may change; "" before they are open
	Method      string `json:"method,omitempty"`
	Samples     []int  `json:"samples,omitempty"`
	Layers      int    `json:"layers,omitempty"`
	Hidden      int    `json:"hidden,omitempty"`
	Batch       int    `json:"batch,omitempty"`
	MaxBatches  int    `json:"max_batches,omitempty"`
	EvalEvery   int    `json:"eval_every,omitempty"`
	Patience    int    `json:"patience,omitempty"`
	Batches     int    `json:"batches,omitempty"` // to time
	Seed        uint64 `json:"seed,omitempty"`

	Other map[string]string `json:"other,omitempty"` // options that are not the paper's

	// Of a cell of errors, beside the training run of W.
	Methods []string `json:"methods,omitempty"`
	Sizes   []int    `json:"sizes,omitempty"`
	Repeats int      `json:"repeats,omitempty"`
}

// id is a text that only equal keys share.
func (k key) id() string {
	text, _ := json.Marshal(k) // it holds nothing that JSON lacks
	return string(text)
}

// loose is a text that only keys share that differ at most in EvalEvery.
func (k key) loose() string {
	k.EvalEvery = 0
	return "every " + k.id()
}

// String describes the cell for a reader.
func (k key) String() string {
	return strings.TrimRight(fmt.Sprint(k.Kind, " ", k.Data, " ", k.Method, " ", run.Sizes(k.Samples)), " ")
}

// cellsFile is the file of the cells in their folder: a cell in JSON on each line.
const cellsFile = "cells.jsonl"

// cells is a folder of results. A cell is added at the end of the file and not changed
// afterwards. A cell that comes later in the file takes the place of one with the same key.
type cells struct {
	dir     string
	program string // version of the program that computes new cells

	size  int64 // of the lines that were read
	lines int
	known map[string]*cell // by id, by id and machine, and by the loose key
	data  map[string]bool  // SPECs that have cells
}

// cell is one line of the file.
type cell struct {
	Key     key             `json:"key"`
	Made    made            `json:"made"`
	Seconds float64         `json:"seconds"` // that it took to compute the result
	Result  json.RawMessage `json:"result"`

	result any    // of Result, once it was read
	failed error  // the cell is too large for the memory
	at     string // FILE:LINE
}

// made says where a result comes from.
type made struct {
	Date    string          `json:"date"`
	Program string          `json:"program,omitempty"` // version
	Machine machine.Machine `json:"machine"`
}

func newCells(dir, program string) *cells {
	return &cells{dir: dir, program: program, known: map[string]*cell{}, data: map[string]bool{}}
}

func (c *cells) path() string { return filepath.Join(c.dir, cellsFile) }

// folder returns the folder of a cell's work, made of its key.
func (c *cells) folder(k key) string {
	h := fnv.New64a()
	h.Write([]byte(k.id()))
	return filepath.Join(c.dir, fmt.Sprintf("%s-%016x", k.Kind, h.Sum64()))
}

// read reads the lines that were added since the last call. A last line without an end is of
// a process that writes it, or has crashed. The error names the line that is damaged.
func (c *cells) read() error {
	file, err := regularfile.Open(c.path())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, c.size, 1<<40))
	if err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	for line := range bytes.Lines(text[:bytes.LastIndexByte(text, '\n')+1]) {
		one := &cell{at: fmt.Sprintf("%s:%d", c.path(), c.lines+1)}
		err := json.Unmarshal(line, one)
		if err == nil && one.Key.Kind == "" {
			err = errors.New("it has no key")
		}
		if err != nil {
			return one.damaged(err)
		}
		for _, id := range []string{one.Key.id(), one.Key.id() + one.Made.Machine.String(), one.Key.loose()} {
			c.known[id] = one
		}
		c.data[one.Key.Data] = true
		c.size, c.lines = c.size+int64(len(line)), c.lines+1
	}
	return nil
}

// damaged is the error of a cell that cannot be used.
func (one *cell) damaged(err error) error {
	return fmt.Errorf("reproduce: %s is damaged: %w; remove the line to compute its cell again", one.at, err)
}

// load returns a cell with its result, or nil if there is none. To compute the missing ones, a
// timing must be this machine's, and a run have the key's number of mini-batches between two
// scores.
func (c *cells) load(k key, compute bool) (*cell, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	one := c.known[k.id()+machine.Describe().String()]
	if one == nil && !(compute && k.Kind.timed()) {
		one = c.known[k.id()]
	}
	if one == nil && !compute {
		one = c.known[k.loose()]
	}
	if one == nil || one.result != nil {
		return one, nil
	}
	one.result = k.Kind.work().result
	if err := finite.Unmarshal(one.Result, one.result); err != nil {
		return nil, one.damaged(err)
	}
	return one, nil
}

// save adds a cell at the end of the file, in place of a last line that a crash has cut off,
// and loads it. The file is locked meanwhile, because other processes, also on other machines,
// may add their cells. After a crash the cell is whole or absent.
func (c *cells) save(k key, seconds float64, result any) (one *cell, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reproduce: %s: %w", k, err)
		}
	}()
	text, err := json.Marshal(finite.JSON(result))
	if err == nil {
		err = os.MkdirAll(c.dir, 0o777)
	}
	if err != nil {
		return nil, err
	}
	line, _ := json.Marshal(cell{Key: k, Seconds: seconds, Made: made{time.Now().UTC().Format(time.DateOnly), c.program, machine.Describe()}, Result: text}) // nothing that JSON lacks
	file, err := os.OpenFile(c.path(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) { // another process has the lock for as long as it writes a line
		if err = filelock.Try(file); !errors.Is(err, filelock.ErrLocked) || time.Since(start) > time.Minute {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.read(); err != nil {
		return nil, err
	}
	if err := os.Truncate(c.path(), c.size); err != nil { // Windows cuts no file by an opening for appending
		return nil, err
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	return c.load(k, true)
}

// claim keeps other processes away from a cell until release is called. The error is
// rundir.ErrLocked if another process has the cell.
func (c *cells) claim(k key) (release func(), err error) {
	path := c.folder(k) + ".claim"
	held, err := rundir.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist): // the process that had it has just removed it
		return nil, fmt.Errorf("reproduce: %s: %w", path, rundir.ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	return func() {
		_ = os.RemoveAll(path) // before others can lock it
		_ = held.Close()
	}, nil
}

// resultOf returns the result of a cell, or nil if it has none.
func resultOf[T any](r *runner, k key) *T {
	r.asked = append(r.asked, k)
	if one := r.settled[k.id()]; one != nil && one.failed == nil {
		return one.result.(*T)
	}
	return nil
}

// resultsOf returns the results of the cells that have one.
func resultsOf[T any](r *runner, keys []key) []*T {
	var results []*T
	for _, k := range keys {
		if result := resultOf[T](r, k); result != nil {
			results = append(results, result)
		}
	}
	return results
}

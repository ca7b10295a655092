package reproduce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gcn-layerwise/gcn/internal/filelock"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// cellsFile is the file of the cells in their folder: a cell in JSON on each line.
const cellsFile = "cells.jsonl"

// cells is a folder of results. A cell is added at the end of the file and not changed
// afterwards. A cell that comes later in the file takes the place of one with the same key.
type cells struct {
	dir     string
	program string // version of the program that computes new cells

	size  int64 // of the lines that were read
	lines int
	known map[string]*cell // by key, and by key and machine
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

func (c *cells) path() string { return filepath.Join(c.dir, cellsFile) }

// folder returns the folder of a cell's work, made of its key.
func (c *cells) folder(k key) string {
	h := fnv.New64a()
	h.Write([]byte(k.id()))
	return filepath.Join(c.dir, fmt.Sprintf("%s-%016x", k.Kind, h.Sum64()))
}

// read reads the lines that were added since the last call. It returns the rest of a last
// line without an end, which is whole or was cut off by a crash. The error names the line that
// is damaged.
func (c *cells) read() (rest []byte, err error) {
	file, err := regularfile.Open(c.path())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, c.size, 1<<40))
	if err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	text, rest = text[:end], text[end:]
	whole := text
	if json.Valid(rest) {
		whole = append(whole[:end:end], rest...)
	}
	line := c.lines
	for text := range bytes.Lines(whole) {
		line++
		one := &cell{at: fmt.Sprintf("%s:%d", c.path(), line)}
		err := rundir.JSONError(json.Unmarshal(text, one))
		if err == nil && one.Key.Kind == "" {
			err = errors.New("it has no key")
		}
		if err != nil {
			return nil, one.damaged(err)
		}
		c.add(one)
	}
	c.size, c.lines = c.size+int64(end), c.lines+bytes.Count(text, []byte("\n"))
	return rest, nil
}

// add makes a cell known.
func (c *cells) add(one *cell) {
	if c.known == nil {
		c.known, c.data = map[string]*cell{}, map[string]bool{}
	}
	id := one.Key.id()
	c.known[id], c.known[id+one.Made.Machine.String()], c.data[one.Key.Data] = one, one, true
}

// damaged is the error of a cell that cannot be used.
func (one *cell) damaged(err error) error {
	return fmt.Errorf("reproduce: %s is damaged: %w; remove the line to compute its cell again", one.at, err)
}

// has reports whether a data set has cells.
func (c *cells) has(spec string) (bool, error) {
	_, err := c.read()
	return c.data[spec], err
}

// load returns a cell with its result, or nil if there is none: this machine's, or else
// another one's unless own is set.
func (c *cells) load(k key, own bool) (*cell, error) {
	if _, err := c.read(); err != nil {
		return nil, err
	}
	one := c.known[k.id()+machine.Describe().String()]
	if one == nil && !own {
		one = c.known[k.id()]
	}
	if one == nil || one.result != nil {
		return one, nil
	}
	var err error
	if one.result, err = decode(k.Kind, one.Result); err != nil {
		return nil, one.damaged(err)
	}
	return one, nil
}

// save adds a cell to the file and returns it. After a crash it is whole or absent.
func (c *cells) save(k key, seconds float64, result any) (*cell, error) {
	one := &cell{Key: k, Seconds: seconds, Made: made{time.Now().UTC().Format(time.DateOnly), c.program, machine.Describe()}}
	var line []byte
	var err error
	if one.Result, err = json.Marshal(finite.JSON(result)); err == nil {
		one.result, err = decode(k.Kind, one.Result)
	}
	if err == nil {
		line, err = json.Marshal(one)
	}
	if err == nil {
		err = c.append(append(line, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("reproduce: %s: %w", k, err)
	}
	return one, nil
}

// append writes a line at the end of the file. It removes a last line that a crash has cut
// off. The file is locked meanwhile, because other processes, also on other machines, may add
// their cells.
func (c *cells) append(line []byte) (err error) {
	if err := os.MkdirAll(c.dir, 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(c.path(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := waitForLock(file); err != nil {
		return err
	}
	rest, err := c.read()
	switch {
	case err != nil:
		return err
	case json.Valid(rest):
		line = append([]byte{'\n'}, line...)
	case len(rest) > 0:
		if err := file.Truncate(c.size); err != nil {
			return err
		}
	}
	if _, err := file.Write(line); err != nil {
		return err
	}
	return file.Sync()
}

// waitForLock locks a file. Another process has the lock for as long as it writes a line.
func waitForLock(file *os.File) error {
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := filelock.Try(file)
		if err == nil || !errors.Is(err, filelock.ErrLocked) || time.Since(start) > time.Minute {
			return err
		}
	}
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

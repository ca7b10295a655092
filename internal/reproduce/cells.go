package reproduce

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/gcn-layerwise/gcn/internal/filelock"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// cells is a folder of results: one file for each data set, with a cell in JSON on each
// line. A cell is added at the end of its file and not changed afterwards.
type cells struct {
	dir     string
	program string                // version of the program that computes new cells
	files   map[string]*cellsFile // by name
}

// cellsFile is the content of a file. A cell that comes later in the file takes the place
// of an equal one.
type cellsFile struct {
	path   string
	size   int64 // when it was read
	byName map[string]*cell
	loose  map[string]*cell // by settings without the machine
}

// cell is one line of a file.
type cell struct {
	Name     string          `json:"cell"`
	Made     made            `json:"made"`
	Seconds  float64         `json:"seconds"`  // that it took to compute the result
	Settings json.RawMessage `json:"settings"` // everything that the result depends on
	Result   json.RawMessage `json:"result"`

	at string // FILE:LINE
}

// made says where a result comes from.
type made struct {
	Date    string          `json:"date"`
	Program string          `json:"program,omitempty"` // version
	Machine machine.Machine `json:"machine"`
}

// name returns the name of the cell of a kind with these settings: words for a reader,
// and a hash of the settings.
func (c *cells) name(kind string, settings any, words ...string) (string, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("reproduce: settings of a cell: %w", err)
	}
	h := fnv.New64a()
	h.Write(text)
	slug := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return '-'
		}
		return unicode.ToLower(r)
	}, strings.Join(append([]string{kind}, words...), "_"))
	if len(slug) > 100 {
		slug = slug[:100]
	}
	return fmt.Sprintf("%s_%016x", slug, h.Sum64()), nil
}

// file returns the cells of a data set. It reads the file again if another process has added
// cells. The error names the line that is damaged. A last line that a crash has cut off does
// not count.
func (c *cells) file(spec string) (*cellsFile, error) {
	name := slug(spec)
	if len(name) > 100 {
		name = name[:100]
	}
	f := &cellsFile{path: filepath.Join(c.dir, name+".jsonl"), byName: map[string]*cell{}, loose: map[string]*cell{}}
	if known, info := c.files[name], f.info(); known != nil && info != nil && info.Size() == known.size {
		return known, nil
	}
	text, err := regularfile.Read(f.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	f.size = int64(len(text))
	if !lastIsWhole(text) {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		one := &cell{at: fmt.Sprintf("%s:%d", f.path, number)}
		err := rundir.JSONError(json.Unmarshal(line, one))
		if err == nil {
			err = f.add(one)
		}
		if err != nil {
			return nil, one.damaged(err)
		}
	}
	if c.files == nil {
		c.files = map[string]*cellsFile{}
	}
	c.files[name] = f
	return f, nil
}

// lastIsWhole reports whether the last line is whole, with the end of a line or without it.
func lastIsWhole(text []byte) bool {
	return json.Valid(text[bytes.LastIndexByte(text, '\n')+1:]) || bytes.HasSuffix(text, []byte("\n"))
}

// info describes the file, or is nil.
func (f *cellsFile) info() os.FileInfo {
	file, err := os.Open(f.path) // a network file system tells the true size of an open file
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	return info
}

// damaged is the error of a cell that cannot be used.
func (one *cell) damaged(err error) error {
	return fmt.Errorf("reproduce: %s is damaged: %w; remove the line to compute its cell again", one.at, err)
}

// add makes a cell known.
func (f *cellsFile) add(one *cell) error {
	key, err := canonical(one.Settings, true)
	if err != nil {
		return err
	}
	f.byName[one.Name], f.loose[key] = one, one
	return nil
}

// canonical returns settings in one form for equal settings. It can leave out the machine and
// its BLAS library.
func canonical(settings []byte, anyMachine bool) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(settings))
	decoder.UseNumber() // seeds have 64 bits
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return "", fmt.Errorf("settings: %w", rundir.JSONError(err))
	}
	for _, part := range []any{values, values["training"]} {
		if part, ok := part.(map[string]any); ok && anyMachine {
			delete(part, "machine")
			delete(part, "blas")
		}
	}
	text, err := json.Marshal(values)
	return string(text), err
}

// load reads a cell of a data set into result, and returns the cell without its result;
// nil means that there is no such cell. elsewhere also allows a cell that another machine
// has computed. The error names the cell that is damaged.
func (c *cells) load(spec, name string, settings, result any, elsewhere bool) (*cell, error) {
	f, err := c.file(spec)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	want, err := canonical(text, false)
	if err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	one := f.byName[name]
	if one == nil && elsewhere {
		key, err := canonical(text, true)
		if err != nil {
			return nil, fmt.Errorf("reproduce: %w", err)
		}
		one = f.loose[key]
	}
	if one == nil {
		if one, err = c.loadFile(name); one == nil || err != nil {
			return nil, err
		}
	}
	if has, err := canonical(one.Settings, false); err != nil || one.Name == name && has != want {
		return nil, one.damaged(cmp.Or(err, errors.New("other settings than the cell's name says")))
	}
	err = rundir.JSONError(finite.Unmarshal(one.Result, result))
	if err == nil {
		err = checkResult(result)
	}
	if err != nil {
		return nil, one.damaged(err)
	}
	return one, nil
}

// loadFile reads a cell of an earlier program, which had a file for each cell.
func (c *cells) loadFile(name string) (*cell, error) {
	path := filepath.Join(c.dir, name+".json")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	one := &cell{Name: name, at: path}
	var settings bytes.Buffer
	if err == nil {
		err = json.Unmarshal(text, one)
	}
	if err == nil {
		err = json.Compact(&settings, one.Settings)
	}
	if err != nil {
		return nil, fmt.Errorf("reproduce: %s: %w; remove it to compute its cell again", path, err)
	}
	one.Settings = settings.Bytes()
	return one, nil
}

// save adds a cell to the file of its data set. After a crash it is whole or absent.
func (c *cells) save(spec, name string, settings any, seconds float64, result any) (*cell, error) {
	f, err := c.file(spec)
	if err != nil {
		return nil, err
	}
	one := &cell{Name: name, Seconds: seconds, Made: made{time.Now().UTC().Format(time.DateOnly), c.program, machine.Describe()}}
	if one.Settings, err = json.Marshal(settings); err == nil {
		one.Result, err = json.Marshal(finite.JSON(result))
	}
	var line []byte
	if err == nil {
		line, err = json.Marshal(one)
	}
	if err != nil {
		return nil, fmt.Errorf("reproduce: cell %s: %w", name, err)
	}
	if err := f.append(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	return one, nil
}

// append writes a line at the end of the file. It removes a last line that a crash has cut
// off. The file is locked meanwhile, because other processes, also on other
// machines, may add their cells.
func (f *cellsFile) append(line []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := waitForLock(file); err != nil {
		return err
	}
	if ended, err := endsLine(file); err != nil {
		return err
	} else if !ended {
		text, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		if lastIsWhole(text) {
			line = append([]byte{'\n'}, line...)
		} else if err := file.Truncate(int64(bytes.LastIndexByte(text, '\n') + 1)); err != nil {
			return err
		}
	}
	if _, err := file.Write(line); err != nil {
		return err
	}
	return file.Sync()
}

// waitForLock locks a file. Another process has the lock for as long as it writes a line. A
// file system without locks serves one process.
func waitForLock(file *os.File) error {
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := filelock.Try(file)
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if !errors.Is(err, filelock.ErrLocked) || time.Since(start) > time.Minute {
			return err
		}
	}
}

// endsLine reports whether a file is empty or ends with the end of a line.
func endsLine(file *os.File) (bool, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return true, err
	}
	var last [1]byte
	_, err = file.ReadAt(last[:], size-1)
	return last[0] == '\n', err
}

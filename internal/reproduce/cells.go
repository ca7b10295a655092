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
	"strings"
	"unicode"

	"github.com/gcn-layerwise/gcn/internal/finite"
)

// cells is a folder of results, one JSON file each.
type cells struct{ dir string }

// cellFile is the content of a file.
type cellFile struct {
	Settings any             `json:"settings"` // everything that the result depends on
	Seconds  float64         `json:"seconds"`  // that it took to compute the result
	Result   json.RawMessage `json:"result"`
}

// name returns the file name, without folder and extension, of the cell of a kind
// with these settings: words for a reader, and a hash of the settings.
func (c cells) name(kind string, settings any, words ...string) (string, error) {
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

// load reads a cell into result and returns true, with the seconds that it took to
// compute, or returns false if there is no such cell. The error names a file that is
// damaged or has other settings.
func (c cells) load(name string, settings, result any) (seconds float64, there bool, err error) {
	path := filepath.Join(c.dir, name+".json")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reproduce: %w", err)
	}
	want, err := json.Marshal(settings)
	if err != nil {
		return 0, false, fmt.Errorf("reproduce: %w", err)
	}
	var file struct {
		Settings json.RawMessage `json:"settings"`
		Seconds  float64         `json:"seconds"`
		Result   json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return 0, false, fmt.Errorf("reproduce: %s is damaged: %w; remove it to compute it again", path, err)
	}
	var got bytes.Buffer
	if err := json.Compact(&got, file.Settings); err != nil {
		return 0, false, fmt.Errorf("reproduce: %s is damaged: %w; remove it to compute it again", path, err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		return 0, false, fmt.Errorf("reproduce: %s has other settings; remove it to compute it again", path)
	}
	if err := finite.Unmarshal(file.Result, result); err != nil {
		return 0, false, fmt.Errorf("reproduce: %s is damaged: %w; remove it to compute it again", path, err)
	}
	return file.Seconds, true, nil
}

// save writes a cell. After a crash it is whole or absent.
func (c cells) save(name string, settings any, seconds float64, result any) error {
	if err := os.MkdirAll(c.dir, 0o777); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	text, err := json.Marshal(finite.JSON(result))
	if err != nil {
		return fmt.Errorf("reproduce: cell %s: %w", name, err)
	}
	if text, err = json.MarshalIndent(cellFile{settings, seconds, text}, "", " "); err != nil {
		return fmt.Errorf("reproduce: cell %s: %w", name, err)
	}
	return saveText(c.dir, name+".json", func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

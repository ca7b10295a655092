package reproduce

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// Config holds the options of a file. The zero value of a field means the paper's value.
type Config struct {
	Batch      int    `json:"batch"`       // training nodes a mini-batch; 0 means 512
	Hidden     int    `json:"hidden"`      // width of the hidden layers; 0 means 256
	MaxBatches int    `json:"max-batches"` // limit of a training run; 0 means 1000
	Patience   int    `json:"patience"`    // mini-batches without a better score before a run stops; 0 means 200
	Setting    string `json:"setting"`     // sample sizes: "fixed", "increasing" or "both"; "" means both
	Batches    int    `json:"batches"`     // mini-batches to time; 0 means 200 for sampling, 150 for training
	Repeats    int    `json:"repeats"`     // mini-batches of the matrix error; 0 means 200
}

// mostHidden is the largest width of the hidden layers.
const mostHidden = 1 << 16

// LoadConfig reads a JSON file of options. The error names file and line.
func LoadConfig(path string) (Config, error) {
	var c Config
	text, err := regularfile.Read(path)
	if err != nil {
		return c, err
	}
	err = json.Unmarshal(text, &c, json.RejectUnknownMembers(true))
	if err == nil {
		if err = c.fill(); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return c, err
	}
	var wrong *json.SemanticError
	var syntax *jsontext.SyntacticError
	at := int64(len(text))
	switch {
	case errors.As(err, &syntax):
		at = min(at, syntax.ByteOffset)
	case errors.As(err, &wrong):
		at, err = wrong.ByteOffset, fmt.Errorf("%q has a value that does not fit", wrong.JSONPointer.LastToken())
		if wrong.Err == json.ErrUnknownName {
			err = fmt.Errorf("there is no option %q", wrong.JSONPointer.LastToken())
		}
	}
	return c, fmt.Errorf("%s:%d: %w", path, 1+bytes.Count(text[:at], []byte("\n")), err)
}

// fill sets the fields that are 0 to the paper's values, and checks all.
func (c *Config) fill() error {
	for _, o := range []struct {
		name               string
		value              *int
		least, most, paper int
	}{
		{"batch", &c.Batch, 1, 1 << 30, 512}, {"hidden", &c.Hidden, 1, mostHidden, 256}, {"max-batches", &c.MaxBatches, 1, 1 << 30, 1000},
		{"patience", &c.Patience, 1, 1 << 30, 200}, {"batches", &c.Batches, 0, 1 << 30, 0}, {"repeats", &c.Repeats, 2, 1 << 30, 200},
	} {
		if *o.value = cmp.Or(*o.value, o.paper); *o.value < o.least || *o.value > o.most {
			return fmt.Errorf("%s %d: want a number from %d to %d", o.name, *o.value, o.least, o.most)
		}
	}
	c.Setting = cmp.Or(c.Setting, "both")
	if !slices.Contains([]string{"both", "fixed", "increasing"}, c.Setting) {
		return fmt.Errorf("setting %q: want fixed, increasing or both", c.Setting)
	}
	return nil
}

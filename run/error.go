package run

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gcn-layerwise/gcn/layers"
)

// OptionError says which option is wrong, alone or beside others, and why.
type OptionError struct {
	Option string // its name; "": options that are not known
	Place  string // FILE:LINE that set it; "": the command line, or Go
	Saved  bool   // the file is of a run, which this program wrote
	Err    error  // names the option as a flag
}

func (e *OptionError) Error() string {
	if e.Place == "" {
		return e.Err.Error()
	}
	return e.Place + ": " + e.Err.Error()
}

func (e *OptionError) Unwrap() error { return e.Err }

// refuse returns the error of an option, which the message begins with.
func (s *Settings) refuse(option, format string, args ...any) error {
	from := s.given[option]
	if from.saved { // a saved run alone is right
		for _, v := range s.given {
			if v.Place == "" {
				from = v
			}
		}
	}
	return &OptionError{Option: option, Place: from.Place, Saved: from.saved, Err: fmt.Errorf("--"+flagOf(option)+format, args...)}
}

// Explain returns an error about an option of layers or train in the words of the command: the
// name of the option is a flag's.
func (s *Settings) Explain(err error) error {
	var excluded *layers.OptionError
	if !errors.As(err, &excluded) {
		return err
	}
	return s.refuse(nameInFile(excluded.Option), ": %s", excluded.Reason)
}

// nameInFile returns the name of an option in Go as files have it: layer_norm for LayerNorm.
func nameInFile(option string) string {
	return strings.ToLower(regexp.MustCompile("([a-z])([A-Z])").ReplaceAllString(option, "${1}_$2"))
}

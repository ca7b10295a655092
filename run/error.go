package run

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/agnivade/levenshtein"
)

// OptionError says which option is wrong, alone or beside others, and why.
type OptionError struct {
	Option string // its name; "": options that are not known
	Place  string // FILE:LINE that set it; "": the command line, or Go
	Saved  bool   // the file is of a run, which this program wrote
	Err    error  // names the option as a flag
}

func (e *OptionError) Error() string { return strings.TrimPrefix(e.Place+": "+e.Err.Error(), ": ") }

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

// nameInFile returns the name of an option in Go as files have it: layer_norm for LayerNorm.
func nameInFile(option string) string {
	return strings.ToLower(regexp.MustCompile("([a-z])([A-Z])").ReplaceAllString(option, "${1}_$2"))
}

// DidYouMean returns ", did you mean NAME?" for the name that was probably meant by the given
// one, or "".
func DidYouMean(given string, names []string) string {
	if name := Meant(given, names); name != "" {
		return fmt.Sprintf(", did you mean %s?", name)
	}
	return ""
}

// OldFlag says where an option is given that has no flag, or returns "".
func OldFlag(name string) string {
	for flag, keys := range map[string]any{"--method": new(Keys), "--schedule": new(ScheduleKeys)} {
		if o, ok := find(keys, name); ok {
			return fmt.Sprintf("is a key of %s: %[1]s '%s?%s=%s'", flag, strings.Split(o.Group, "|")[0], o.Flag(), cmp.Or(o.Default, "…"))
		}
	}
	if o, ok := find(new(Settings), name); ok && o.File {
		return "is for files of options: --config FILE with {\"" + o.Name + "\": …}"
	}
	return ""
}

// Meant returns the name that was probably meant by the given one: the nearest one, or the
// longest that it contains. It returns "" if there is none. A name is near if a third of given's
// letters, or two, are others, or if it begins with given.
func Meant(given string, names []string) string {
	given = flagOf(strings.ToLower(given))
	nearest, least, longest := "", max(2, len(given)/3)+1, ""
	for _, name := range names {
		lower := strings.ToLower(name)
		distance := levenshtein.ComputeDistance(given, lower)
		if len(given) >= 2 && strings.HasPrefix(lower, given) {
			distance = min(distance, 1)
		}
		if distance < least && distance < len(name) {
			nearest, least = name, distance
		}
		if len(name) > max(2, len(longest)) && strings.Contains(given, lower) {
			longest = name
		}
	}
	return cmp.Or(nearest, longest)
}

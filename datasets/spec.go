package datasets

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Spec is a parsed SPEC: SCHEME:PATH?key=value&key=value. Values may be
// percent-encoded (%26 for &); the path may not.
type Spec struct {
	Scheme string            // "" for a SPEC without a colon, which names a data set
	Path   string            // up to the first question mark
	Values map[string]string // nil without a question mark

	text string
}

// parseSpec splits a SPEC into its parts. It reports an empty path, a pair that is
// not key=value, and a key given twice.
func parseSpec(text string) (*Spec, error) {
	rest, query, hasQuery := strings.Cut(text, "?")
	scheme, path, found := strings.Cut(rest, ":")
	if !found {
		scheme, path = "", rest
	}
	s := &Spec{Scheme: scheme, Path: path, text: text}
	switch {
	case found && scheme == "":
		return nil, s.fail("no scheme before the colon; want SCHEME:PATH")
	case path == "":
		return nil, s.fail("no path or name; want SCHEME:PATH, such as synth:demo")
	case !hasQuery:
		return s, nil
	}
	s.Values = make(map[string]string)
	for pair := range strings.SplitSeq(query, "&") {
		key, escaped, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, s.fail("%q is not key=value", pair)
		}
		if _, twice := s.Values[key]; twice {
			return nil, s.fail("key %q is given twice", key)
		}
		value, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, s.fail("value of %q: %w", key, err)
		}
		s.Values[key] = value
	}
	return s, nil
}

// String returns the SPEC as it was given.
func (s *Spec) String() string { return s.text }

// fail returns an error about the SPEC.
func (s *Spec) fail(format string, args ...any) error {
	return fmt.Errorf("datasets: %q: %w", s.text, fmt.Errorf(format, args...))
}

// given returns the first of the keys that has a value, or "".
func (s *Spec) given(keys ...string) string {
	for _, key := range keys {
		if _, given := s.Values[key]; given {
			return key
		}
	}
	return ""
}

// number returns the value of a key as a number in [least, most], or fallback if it is not given.
func number[T int64 | uint64 | float64](s *Spec, key string, fallback, least, most T) (v T, err error) {
	text, given := s.Values[key]
	if !given {
		return fallback, nil
	}
	kind, verb := "an integer", "%d"
	if _, is := any(v).(float64); is {
		kind, verb = "a number", "%g"
	}
	if _, err = fmt.Sscanf(text+"\n", verb+"\n", &v); err != nil || !(v >= least && v <= most) { // NaN is in no range
		return fallback, s.fail("%s=%s: want %s in [%v, %v]", key, text, kind, least, most)
	}
	return v, nil
}

// check reports the first key that is not allowed, or whose value is none of its choices, in
// alphabetical order. The allowed keys are texts such as "seed", or "sparse=0|1" with choices.
func (s *Spec) check(allowed []string) error {
	for _, key := range slices.Sorted(maps.Keys(s.Values)) {
		k := slices.IndexFunc(allowed, func(text string) bool { return strings.HasPrefix(text+"=", key+"=") })
		if k < 0 {
			return s.fail("unknown key %q; %s takes %s", key, cmp.Or(s.Scheme, s.Path), cmp.Or(keyNames(allowed), "no keys"))
		}
		_, choices, limited := strings.Cut(allowed[k], "=")
		if want := strings.Split(choices, "|"); limited && !slices.Contains(want, s.Values[key]) {
			return s.fail("%s=%s: want %s", key, s.Values[key], strings.Join(want, ", "))
		}
	}
	return nil
}

// keyNames lists the names of keys without their choices.
func keyNames(keys []string) string {
	return regexp.MustCompile("=[^,]*").ReplaceAllString(strings.Join(keys, ", "), "")
}

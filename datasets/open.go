package datasets

import (
	"context"
	"fmt"
	"strings"
)

// Scheme is one way to get a data set: the part of a SPEC before the colon.
type Scheme struct {
	Name    string   // "npz"
	Path    string   // what the part after the colon is, for help texts: "FILE"
	Summary string   // one sentence
	Keys    []string // keys understood after the question mark

	// Open reads the data set. It need not call Validate: datasets.Open does.
	Open func(ctx context.Context, spec *Spec) (*Data, error)
}

// Options adjusts Open. The zero value is ready to use.
type Options struct {
	// Schemes are a program's own, looked up before the built-in ones.
	Schemes []Scheme
}

// Schemes returns the built-in schemes, in the order of the manual.
func Schemes() []Scheme {
	return []Scheme{
		synthScheme(),
		npyScheme(),
		planetoidScheme(),
		ogbScheme(),
		edgesScheme(),
		saintScheme(),
		sageScheme(),
		dglRedditScheme(),
		npzScheme(),
	}
}

// Open returns the data set that a SPEC names, validated. The error names the
// file and the place in it, or what is wrong with the SPEC: an unknown scheme or
// key comes with those that are known. Reading stops early, with the context's
// error, when ctx is done. Cost: one pass over the files, and memory for the
// result plus at most twice the graph while it is built.
func Open(ctx context.Context, spec string, o Options) (*Data, error) {
	s, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	scheme, err := findScheme(s, o)
	if err != nil {
		return nil, err
	}
	if err := s.checkKeys(scheme.Keys); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := scheme.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	if d.Name == "" {
		d.Name = spec
	}
	validate := d.Validate
	if d.simple {
		validate = d.validateNodes // looking up every edge's reverse can take longer than reading it
	}
	if err := validate(); err != nil {
		return nil, err
	}
	return d, nil
}

func findScheme(s *Spec, o Options) (*Scheme, error) {
	var known []string
	for _, schemes := range [][]Scheme{o.Schemes, Schemes()} {
		for _, scheme := range schemes {
			if scheme.Name == s.Scheme {
				return &scheme, nil
			}
			known = append(known, scheme.Name+":"+scheme.Path)
		}
	}
	list := strings.Join(known, ", ")
	if s.Scheme == "" {
		return nil, fmt.Errorf("datasets: %q: unknown data set; want one of %s", s.text, list)
	}
	return nil, fmt.Errorf("datasets: %q: unknown scheme %q; want one of %s", s.text, s.Scheme, list)
}

package datasets

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Scheme is a data set or a format of a program's own. Open's data are validated.
type Scheme struct {
	Name    string   // the part of a SPEC before the colon
	Path    string   // the part after the colon, in help texts: "FILE"
	Summary string   // one sentence
	Keys    []string // its keys after the question mark: "seed", or "sparse=0|1" with choices
	Open    func(ctx context.Context, spec *Spec, o Options) (*Data, error)
}

// Options adjusts Open. The zero value is ready to use.
type Options struct {
	// Schemes are a program's own data sets and formats. They come before the
	// built-in ones.
	Schemes []Scheme

	// Cache is the folder of downloaded data sets and of the records of valid
	// stores. "" means $GCN_DATA, or else the folder gcn in the user's cache
	// folder.
	Cache string

	// Mirror is the address of a server that named data sets are downloaded
	// from: MIRROR/NAME/FILE. "" means $GCN_MIRROR, or else the authors' servers.
	Mirror string

	// Offline forbids downloading. A named data set that is not in the cache then
	// gives an error that wraps ErrOffline.
	Offline bool

	// Half makes Convert write features in half precision, IEEE 754's: half the bytes, about three
	// decimal digits, magnitudes up to 65,504. Without it they keep the format that they have.
	Half bool

	// Propagated makes Convert write P·X of the Laplacian and the features too, in the
	// precision of the features: see Data.Propagated.
	Propagated bool

	// Memory is the number of bytes that Convert may take for a data set that it converts
	// without holding it in memory, and for P·X. 0 means half of the memory, at most 8 GiB.
	// Mapped files do not count.
	Memory int64

	// Scratch is the folder of the temporary files of such a conversion. "" means the folder
	// of the store.
	Scratch string

	// Unlabelled allows data without labels, for predictions of a trained model. Labels
	// then holds the class -1 of each node, and Classes is 0 without Schema. There is no split.
	// Without Unlabelled such data are an error.
	Unlabelled bool

	// Schema, if not nil, is the schema of a model's data. Open then makes features that the model
	// understands: it finds columns of tables by their names, and scales them with the model's
	// means. It finds classes and tasks by their names. A node of a class that the model does not
	// know becomes unlabelled. What does not fit is an error that names it.
	Schema *Schema

	// Verify reads and checks the whole store of a named data set or of store:FILE, even if the store
	// was found valid before: its checksums, then everything that Data.Validate checks. An error
	// about a store wraps ErrFormat or graph.ErrInvalid, or is one of reading.
	Verify bool

	// Progress, if not nil, is called often while a named data set is fetched, or P·X
	// computed, from one goroutine.
	Progress func(FetchProgress)

	block  int64 // bytes of P·X that a conversion computes at a time; 0: as many as fit in memory
	window int64 // bytes of a graph that it sorts at a time; 0: as many as fit in memory
}

func (o *Options) progress(p FetchProgress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

// values reports the progress of a stage in values of 4 bytes.
func (o *Options) values(name, stage string, done, all int64) {
	o.progress(FetchProgress{Name: name, Stage: stage, Done: 4 * done, Total: 4 * all})
}

// cacheDir returns the cache's folder, which need not exist.
func (o *Options) cacheDir() (string, error) {
	if dir := cmp.Or(o.Cache, os.Getenv("GCN_DATA")); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("datasets: no place for a cache, set GCN_DATA: %w", err)
	}
	return filepath.Join(dir, "gcn"), nil
}

// Open returns the data set of a SPEC, validated. The error names the file and the
// place in it, or the fault of the SPEC; for an unknown scheme or key it lists the
// known ones. When ctx is done, reading stops early with the context's error. Cost:
// one pass over the files, and memory for the result plus at most twice the graph
// while it is built.
func Open(ctx context.Context, spec string, o Options) (*Data, error) {
	s, scheme, err := parse(spec, o)
	if err != nil {
		return nil, SpecError{err}
	}
	return scheme.load(ctx, s, o)
}

// load is Open for a parsed SPEC of the scheme.
func (s *scheme) load(ctx context.Context, spec *Spec, o Options) (*Data, error) {
	open := s.Open
	if s.read != nil {
		open = s.openFiles
	}
	d, err := open(ctx, spec, o)
	if err == nil && d == nil {
		err = fmt.Errorf("datasets: %s: the scheme %s gave no data", spec, s.Name)
	}
	if err != nil {
		return nil, err
	}
	if !s.ownKeys || d.Name == "" {
		d.Name = spec.String()
	}
	switch {
	case !s.ownKeys:
		err = d.applyKeys(ctx, spec, s, o.Schema)
	case s.source != nil: // the builder makes valid graphs
		err = d.validateNodes(ctx)
	case d.file == nil:
		err = d.validate(ctx)
	}
	if err == nil && o.Schema != nil {
		err = o.Schema.mapOutputs(d)
	}
	if err != nil {
		d.Close() // it was only read
		return nil, err
	}
	return d, nil
}

// applyKeys applies the keys that schemes of files and stores share. It checks the nodes of the result: the
// readers build valid graphs, and opening a store has checked all.
func (d *Data) applyKeys(ctx context.Context, spec *Spec, s *scheme, o *Schema) (err error) {
	if d.Labels == nil {
		err = d.withoutLabels(spec)
	} else {
		d.Metric = cmp.Or(d.Metric, metricFor(d.Labels))
		err = splitFromSpec(ctx, d, spec, d.ownSplit && (s.read != nil || !splitAsked(spec)))
	}
	if err == nil {
		err = finish(ctx, d, spec, s.normalize, o)
	}
	if err == nil && (d.file == nil || len(spec.Values) > 0) {
		err = d.validateNodes(ctx)
	}
	return err
}

// SpecError is the error of Open and Convert about the form of a SPEC, or about a scheme, a name or
// a key that is unknown. Wrong values of keys have other errors.
type SpecError struct{ error }

// Unwrap returns the cause.
func (e SpecError) Unwrap() error { return e.error }

// CheckSpec reports a SPEC with an unknown scheme, name or key. It does not look
// for a file at the path.
func CheckSpec(spec string, o Options) error {
	_, _, err := parse(spec, o)
	return err
}

// parse returns a SPEC's parts and its scheme. It checks that the scheme has the
// keys.
func parse(text string, o Options) (*Spec, *scheme, error) {
	s, err := parseSpec(text)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat("~"); strings.HasPrefix(s.Path, "~/") && err != nil {
		return nil, nil, s.fail("the shell writes out ~ only at the beginning of a word: write $HOME%s", s.Path[1:])
	}
	scheme, err := findScheme(s, o)
	if err != nil {
		return nil, nil, err
	}
	return s, scheme, s.check(scheme.Keys)
}

func findScheme(s *Spec, o Options) (*scheme, error) {
	if s.Scheme == "" && slices.Contains(Names(), s.Path) {
		return namedScheme(), nil
	}
	all := schemes()
	for k, own := range o.Schemes {
		all = slices.Insert(all, k, scheme{Scheme: own, ownKeys: true})
	}
	var known []string
	for _, scheme := range all {
		if scheme.Name == s.Scheme {
			return &scheme, nil
		}
		known = append(known, scheme.Name+":"+scheme.Path)
	}
	return nil, s.fail("unknown scheme or data set; want one of %s", strings.Join(append(known, Names()...), ", "))
}

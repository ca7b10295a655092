package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Convert writes the data set of a SPEC to a store. If the path ends in a slash, it writes
// a folder of NumPy files; if the path begins with ogb:, a folder in OGB's binary layout.
// See WriteStore, o.Precision, o.Propagated, WriteNumPy and WriteOGB. It returns the SPEC of
// the result.
//
// P·X is never held in memory whole. Features of generated data are not either, on their way
// to a store without P·X. Three conversions run in pieces, within o.Memory: of a folder in
// OGB's binary layout, of generated data that do not fit in memory, and of a store whose P·X
// does not fit. If the first two round the features to float16, P·X is of the rounded features.
//
// ogbn-papers100M is downloaded first if it is not in the cache; its unpacked files then stay in
// the cache. Convert replaces a store by a store and a folder by a folder; anything else at the
// path is an error and stays.
func Convert(ctx context.Context, spec, path string, o Options) (string, error) {
	if err := checkContext(ctx); err != nil {
		return "", err
	}
	folder := strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator))
	if err := o.Precision.check(); err != nil {
		return "", err
	}
	if strings.HasPrefix(path, "ogb:") && (o.Precision == Float16 || o.Propagated) {
		return "", fmt.Errorf("datasets: %s: OGB's layout holds features as float32, and not P·X; float16 and P·X are for a store", path)
	}
	if folder && o.Precision == Float16 {
		return "", fmt.Errorf("datasets: %s: NumPy files hold features as float32; float16 is for a store", path)
	}
	if folder && o.Propagated {
		return "", fmt.Errorf("datasets: %s: NumPy files have no place for propagated features; a store has", path)
	}
	if dir, found := strings.CutPrefix(path, "ogb:"); found {
		return convertToOGB(ctx, spec, dir, o)
	}
	if err := replaceable(path, folder); err != nil {
		return "", err
	}
	if !folder {
		if err := convertToStore(ctx, spec, path, o); err != nil {
			return "", err
		}
		d, err := openStore(ctx, path, o, true)
		if err != nil {
			return "", err
		}
		return "store:" + path, d.Close()
	}
	d, err := Open(ctx, spec, o)
	if err != nil {
		return "", err
	}
	defer d.Close() // it was only read
	if err := WriteNumPy(ctx, path, d); err != nil {
		return "", err
	}
	return d.writtenSpec("npy", path), nil
}

// writtenSpec returns the SPEC that reads d from the folder to which it was written.
func (d *Data) writtenSpec(scheme, dir string) string {
	var keys []string
	if d.Metric != metricFor(d.Labels) {
		keys = append(keys, "metric="+string(d.Metric))
	}
	if d.Directed {
		keys = append(keys, "directed=out") // rows of the graph as they are
	}
	spec := scheme + ":" + filepath.Clean(dir)
	if len(keys) > 0 {
		spec += "?" + strings.Join(keys, "&")
	}
	return spec
}

// replaceable reports something at path that Convert must not replace.
func replaceable(path string, folder bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !folder:
		// Known now, and not after the hours that a large conversion takes.
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return fmt.Errorf("datasets: the folder of the store: %w", err)
		}
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("datasets: %w", err)
	case folder && !info.IsDir():
		return fmt.Errorf("datasets: %s: there already, and not a folder", path)
	case folder:
		return nil // its other files stay
	case !info.Mode().IsRegular():
		return fmt.Errorf("datasets: %s: there already, and not a file; a path that ends in a slash is a folder of NumPy files", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(storeMagic))
	if n, _ := f.ReadAt(head, 0); n > 0 && string(head[:n]) != storeMagic {
		return fmt.Errorf("datasets: %s: there already, and not a store: not replaced", path)
	}
	return nil
}

func convertToStore(ctx context.Context, text, path string, o Options) error {
	spec, scheme, err := parse(text, o)
	if err != nil {
		return err
	}
	if done, err := newFetcher(o).convertMissing(ctx, spec, path); done || err != nil {
		return err
	}
	source, err := findStream(ctx, spec, scheme, o)
	if err != nil {
		return err
	}
	if source != nil {
		if c, ok := source.(io.Closer); ok {
			defer c.Close() // it was only read
		}
		return streamToStore(ctx, source, text, path, o)
	}
	if scheme.Name == "synth" && scheme.builtin && !o.Propagated {
		return synthToStore(ctx, spec, path, synthBuffer, o.Precision)
	}
	d, err := Open(ctx, text, o)
	if err != nil {
		return err
	}
	defer d.Close() // it was only read
	var propagated func(*storeWriter) error
	if o.Propagated {
		propagated = func(w *storeWriter) error { return w.propagate(d, o.Progress) }
	}
	return writeStoreAs(ctx, path, d, o.Precision, propagated)
}

// findStream returns the source of a conversion that does not hold the data in memory, or
// nil for the usual one. Both write the same store. A folder in OGB's binary layout is
// always streamed; a synthetic data set if it does not fit in memory otherwise, or if
// o.Memory says that it may not.
func findStream(ctx context.Context, spec *Spec, scheme *Scheme, o Options) (streamSource, error) {
	if !scheme.builtin || scheme.Name == "store" && !o.Propagated { // a mapping takes no memory
		return nil, nil
	}
	if scheme.Name == "synth" {
		m, err := synthFromSpec(spec)
		if err != nil {
			return nil, err
		}
		rows := synthBuffer / int64(m.features)
		if o.Propagated {
			rows = int64(m.nodes)
		}
		limit := int64(min(memory.Limit(), math.MaxInt64))
		if o.Memory > 0 {
			limit = o.Memory
		}
		if bytes := m.bytes(rows); bytes >= 0 && bytes <= limit {
			return nil, nil
		}
		return &synthStream{spec: spec.String(), m: m}, nil
	}
	if s, err := newOGBStream(ctx, spec); err != nil || s != nil && !(o.Propagated && o.Memory == 0 && o.Scratch == "" && s.sizes().fit()) {
		return s, err
	}
	if s, err := newStoreStream(ctx, spec, o); s != nil || err != nil {
		return s, err
	}
	return nil, o.checkStreamed(spec)
}

// checkStreamed reports options of a conversion that does not hold the data in memory, for
// one that does.
func (o *Options) checkStreamed(spec *Spec) error {
	if o.Memory == 0 && o.Scratch == "" {
		return nil
	}
	return fmt.Errorf("datasets: %q is converted in memory: only synth:, OGB's binary folders without keys, and with P·X stores of dense features without keys, are converted within a number of bytes", spec)
}

// propagate computes and writes P·X of d, a part at a time.
func (w *storeWriter) propagate(d *Data, progress func(FetchProgress)) error {
	p, x := d.Laplacian(), d.Features
	total := 4 * int64(x.Rows) * int64(x.Cols)
	return kernel.PropagateFeatures(w.ctx, p, x, func(lo int, rows []float32) error {
		if progress != nil {
			progress(FetchProgress{Name: d.title(), Stage: "propagate", Done: 4 * int64(lo*x.Cols+len(rows)), Total: total})
		}
		return w.floats(rows, lo*x.Cols)
	})
}

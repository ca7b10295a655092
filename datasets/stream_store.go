package datasets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// storeStream is a store whose P·X is computed without holding its features in memory. Its
// graph and its features are read from the mapping.
type storeStream struct {
	path string
	data *Data
}

// newStoreStream returns nil if the SPEC is not of a store with dense features and without
// keys, if P·X is not wanted, or if the features fit in memory and o sets no limit.
func newStoreStream(ctx context.Context, spec *Spec, o Options) (*storeStream, error) {
	if spec.Scheme != "store" || len(spec.Values) > 0 || !o.Propagated {
		return nil, nil
	}
	d, err := openStore(ctx, spec.Path, o, false)
	if err != nil {
		return nil, err
	}
	limited := o.Memory > 0 || o.Scratch != "" || uint64(d.Features.Bytes()) > memory.Limit()/2
	if d.Features.Sparse != nil || !limited {
		return nil, d.Close()
	}
	return &storeStream{path: spec.Path, data: d}, nil
}

// Close unmaps the store.
func (s *storeStream) Close() error { return s.data.Close() }

func (s *storeStream) identity() (string, error) {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("store %q %d %d", path, info.Size(), info.ModTime().UnixNano()), nil
}

func (s *storeStream) sizes() streamSizes {
	d := s.data
	other := 4 * (int64(len(d.Graph.Val)) + int64(len(d.Labels.Multi)))
	if names := d.NodeNames; names != nil {
		other += int64(len(names.Text)) + 8*int64(len(names.Ends))
	}
	return streamSizes{
		nodes: d.Nodes(), width: d.Features.Cols, edges: (d.Graph.NNZ() + 1) / 2,
		mapped: d, other: other,
	}
}

func (s *storeStream) edges(context.Context, int64, func([]graph.Edge) error, func(int64) error) error {
	return nil // the rows are sorted: sizes().mapped
}

func (s *storeStream) bare(context.Context, graph.Report) (*Data, error) {
	d := s.data
	return &Data{
		Name: d.Name, Labels: d.Labels, Directed: d.Directed, NodeNames: d.NodeNames,
		Split: d.Split, Metric: d.Metric, Notes: d.Notes, Report: d.Report, source: d.source,
	}, nil
}

func (s *storeStream) features(ctx context.Context, first int, put func([]float32) error) error {
	x := s.data.Features
	count := max(featurePiece/x.Cols, 1)
	ids, rows := make([]int32, 0, 2*count), make([]float32, count*x.Cols)
	for ; first < x.Rows; first += count {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := min(first+count, x.Rows)
		if x.Prefetch != nil {
			ids = ids[:0]
			for i := first; i < min(last+count, x.Rows); i++ { // this piece and the next
				ids = append(ids, int32(i))
			}
			x.Prefetch(ids)
		}
		part := rows[:(last-first)*x.Cols]
		if x.Half != nil {
			kernel.Widen(part, x.Half[first*x.Cols:last*x.Cols])
		} else {
			copy(part, x.Data[first*x.Cols:last*x.Cols])
		}
		if err := put(part); err != nil {
			return err
		}
	}
	return nil
}

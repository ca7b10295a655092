package datasets

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
)

// ogbStream reads an OGB folder in the binary layout in pieces.
type ogbStream struct {
	spec   string
	folder *formats.OGBBinary

	name   string   // of a named data set; "": the SPEC
	origin []string // notes about its files
}

// newOGBStream returns nil if the SPEC is not of such a folder, or has keys.
func newOGBStream(ctx context.Context, spec *Spec) (*ogbStream, error) {
	if spec.Scheme != "ogb" || len(spec.Values) > 0 {
		return nil, nil
	}
	folder, err := formats.OpenOGBBinary(ctx, spec.Path, formats.Options{Split: true})
	if folder == nil || err != nil {
		return nil, err
	}
	return &ogbStream{spec: spec.String(), folder: folder}, nil
}

func (s *ogbStream) identity() (string, error) {
	text := s.spec
	for _, file := range s.folder.Files() {
		path, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("\n%q %d %d", path, info.Size(), info.ModTime().UnixNano())
	}
	return text, nil
}

func (s *ogbStream) sizes() streamSizes {
	f := s.folder
	outputs := max(f.Labels.Tasks, 1)
	const split = 4
	return streamSizes{nodes: f.Nodes, width: f.Width, edges: f.Edges, steps: f.Edges, memory: int64(f.Nodes) * int64(4*outputs+split)}
}

func (s *ogbStream) edges(ctx context.Context, first int64, put func([]graph.Edge) error, done func(int64) error) error {
	return s.folder.EachEdges(ctx, first, func(edges []graph.Edge) error {
		if err := put(edges); err != nil {
			return err
		}
		first += int64(len(edges))
		return done(first)
	})
}

func (s *ogbStream) bare(_ context.Context, report graph.Report) (*Data, error) {
	f := s.folder
	return &Data{
		Name: cmp.Or(s.name, s.spec), source: s.name, Report: report, Labels: f.Labels, Split: Split(*f.Split), Metric: metricFor(f.Labels),
		Notes: slices.Concat(s.origin, []string{formats.Symmetrised}, f.Notes),
	}, nil
}

func (s *ogbStream) features(ctx context.Context, first int, put func([]float32) error) error {
	return s.folder.EachFeatures(ctx, first, put)
}

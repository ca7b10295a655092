package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/synth"
)

func openSynth(ctx context.Context, spec *Spec, _ Options) (*Data, error) {
	s, err := synthSource(spec, (*synth.Model).Bytes, math.MaxInt)
	if errors.Is(err, memory.ErrTooLarge) {
		err = fmt.Errorf("%w; gcn datasets convert makes a store of it in less", err)
	}
	if err != nil {
		return nil, err
	}
	b, err := graph.NewBuilder(s.nodes)
	if err == nil {
		err = s.edges(ctx, b.AddEdges)
	}
	if err != nil {
		return nil, err
	}
	a, report := b.Build()
	d, err := s.rest(ctx, a, report)
	if err != nil {
		return nil, err
	}
	return d, s.features(ctx, func(rows []float32) error {
		d.Features.Data = rows
		return nil
	})
}

// synthSource returns the data as a source, if the memory that it takes is there. The features come
// in pieces of about size values.
func synthSource(spec *Spec, bytes func(*synth.Model) int64, size int) (*source, error) {
	m, err := synthFromSpec(spec)
	if err == nil {
		err = memory.Check(fmt.Sprintf("datasets: synth:%s of %d nodes and %d edges", m.Name, m.Nodes, m.Edges), bytes(m))
	}
	if err != nil {
		return nil, err
	}
	s := m.Source()
	return &source{
		nodes: m.Nodes, most: m.Edges, memory: m.TableBytes(), edges: s.Edges,
		rest: func(ctx context.Context, a *graph.CSR, _ graph.Report) (*Data, error) {
			labels, split, err := s.Labels(ctx)
			return &Data{
				Graph: a, Features: &graph.Features{Rows: s.Nodes, Cols: s.Model.Features},
				Labels: labels, Split: newSplit(split),
				Metric: Metric(s.Metric), Notes: []string{s.Note()},
			}, err
		},
		features: func(ctx context.Context, yield rowSink) error {
			return s.Features(ctx, size, yield)
		},
	}, nil
}

func synthFromSpec(spec *Spec) (*synth.Model, error) {
	models := synth.Models()
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	k := slices.Index(names, spec.Path)
	if k < 0 {
		return nil, spec.fail("unknown synthetic data set %q; want one of %s", spec.Path, strings.Join(names, ", "))
	}
	m := &models[k]
	var errs [7]error
	var nodes, features, classes int64
	nodes, errs[0] = number(spec, "nodes", int64(m.Nodes), 1, math.MaxInt32)
	m.Resize(int(nodes))
	most := nodes * (nodes - 1) / 2
	m.Edges, errs[1] = number(spec, "edges", min(m.Edges, most), 0, most)
	features, errs[2] = number(spec, "features", int64(m.Features), 1, 1<<16)
	classes, errs[3] = number(spec, "classes", int64(m.Classes), 1, 1<<16)
	m.Seed, errs[4] = number(spec, "seed", m.Seed, 0, math.MaxUint64)
	m.Homophily, errs[5] = number(spec, "homophily", m.Homophily, 0, 1)
	m.Noise, errs[6] = number(spec, "noise", m.Noise, 0, 1)
	m.Features, m.Classes = int(features), int(classes)
	return m, cmp.Or(errs[:]...)
}

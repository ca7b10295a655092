package ranks

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Partition is a data set that the ranks of a group hold together: each holds the features
// of a range of nodes, and fetches the rows that its mini-batches read. The next update's
// rows travel while this update computes. No bit of a result depends on it.
//
// A Partition is for one goroutine, as its Group is.
type Partition struct {
	Group       Group
	Data        *datasets.Data
	Fingerprint string // of the whole data

	bounds    []int // the nodes at which the ranks' ranges begin, and the number of nodes
	whole     int64
	most      int64
	sent      int64
	features  []*rows
	adjacency *rows // nil: each rank holds the graph
}

// NewPartition takes the rows of d away that other ranks of g hold, with those of the graph if
// all is true. All ranks call it with equal data, before they build models, samplers or
// Laplacians over d. Memory: the rank's own rows in a copy, and 4 bytes a node. A mapped store
// keeps none of its features in memory afterwards.
func NewPartition(g Group, d *datasets.Data, all bool) (*Partition, error) {
	if d.Features.Sparse != nil {
		return nil, fmt.Errorf("ranks cannot hold sparse features in parts, which are %.1f MB whole: leave out --partition, or add sparse=0 to the SPEC", float64(d.Features.Bytes())/1e6)
	}
	if d.Nodes() < g.Size() {
		return nil, fmt.Errorf("%d ranks cannot share %d nodes: want at least one for each",
			g.Size(), d.Nodes())
	}
	if all && d.Laplacian().Directed {
		return nil, fmt.Errorf("ranks cannot hold a directed graph in parts: its columns are not its rows; leave the graph whole (--partition features)")
	}
	p := &Partition{Group: g, Data: d, whole: d.Graph.Bytes()}
	for rank := range g.Size() + 1 {
		lo, _ := Range(d.Nodes(), rank, g.Size())
		p.bounds = append(p.bounds, lo)
	}
	p.attach(d.Features)
	if d.Propagated != nil {
		p.attach(d.Propagated)
	}
	if all {
		p.attachGraph()
	}
	p.most = p.Bytes()
	return p, nil
}

// HasGraph reports whether the ranks hold the graph together too.
func (p *Partition) HasGraph() bool { return p.adjacency != nil }

// Bytes returns the size of the graph and the features that this rank holds now.
func (p *Partition) Bytes() int64 {
	sum := p.Data.Graph.Bytes()
	for _, s := range p.features {
		sum += s.x.Bytes()
	}
	return sum
}

// MostBytes returns the largest size that this rank has held in training, and the size of
// the whole graph and features, with P·X if a model has exact input.
func (p *Partition) MostBytes() (most, whole int64) { return p.most, p.whole }

// Sent returns the number of bytes that this rank has sent in fetches.
func (p *Partition) Sent() int64 { return p.sent }

// CheckSampler returns an error if s cannot draw from the partition. All ranks call it: s may
// gather norms of columns, which no worker can.
func (p *Partition) CheckSampler(s samplers.Sampler) error {
	if p.adjacency == nil {
		return nil
	}
	if _, layered := s.(samplers.LayerSampler); !layered {
		return fmt.Errorf("the sampler reads rows of the whole graph: take one that draws layer by layer, such as LayerWise, Labor, Neighbor or Full, or leave the graph whole (--partition features)")
	}
	return samplers.Prepare(s)
}

// Stage fetches the rows of features that mini-batches read. Install makes them readable.
func (p *Partition) Stage(ctx context.Context, batch *layers.Batch, batches []*samplers.MiniBatch) (err error) {
	for _, s := range p.features {
		s.asked, s.staged = s.asked[:0], nil
		for _, b := range batches {
			s.asked = batch.FeatureRows(s.x, b, s.asked)
		}
		if len(s.asked) == 0 {
			continue // the model does not read these features; so on all ranks
		}
		if s.staged, err = s.get(ctx, s.asked); err != nil {
			return err
		}
	}
	return nil
}

// Install makes the staged rows readable, in the place of the rows before.
func (p *Partition) Install() {
	for _, s := range p.features {
		s.install(s.staged)
	}
	p.most = max(p.most, p.Bytes())
}

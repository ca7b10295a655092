package train

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

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
	group       Group
	data        *datasets.Data
	fingerprint string // of the whole data
	whole       int64
	most        int64
	features    []*featureShare
	adjacency   *adjacencyShare // nil: each rank holds the graph
}

// Parts names the data that the ranks of a Partition hold together.
type Parts uint8

const (
	PartsFeatures Parts = iota // the features; each rank holds the graph
	PartsAll                   // the features and the graph
)

// NewPartition takes the rows of d away that other ranks of g hold. All ranks call it with
// equal data, before they build models, samplers or Laplacians over d. Memory: the rank's
// own rows in a copy, and 4 bytes a node. A mapped store keeps none of its features in
// memory afterwards. It returns nil for a group of one rank.
func NewPartition(g Group, d *datasets.Data, parts Parts) (*Partition, error) {
	if g == nil || g.Size() == 1 {
		return nil, nil
	}
	if err := checkParts(d); err != nil {
		return nil, err
	}
	if d.Features.Sparse != nil {
		return nil, fmt.Errorf("train: ranks cannot hold sparse features in parts, which are %.1f MB whole: leave out --partition, or add sparse=0 to the SPEC", float64(d.Features.Bytes())/1e6)
	}
	if d.Nodes() < g.Size() {
		return nil, fmt.Errorf("train: %d ranks cannot share %d nodes: want at least one for each", g.Size(), d.Nodes())
	}
	if parts == PartsAll && d.Laplacian().Directed {
		return nil, fmt.Errorf("train: ranks cannot hold a directed graph in parts: its columns are not its rows; take PartsFeatures (--partition features)")
	}
	p := &Partition{group: g, data: d, fingerprint: Fingerprint(d), whole: d.Graph.Bytes()}
	p.attach(d.Features)
	if d.Propagated != nil {
		p.attach(d.Propagated)
	}
	if parts == PartsAll {
		p.attachGraph()
	}
	d.Release()
	p.most = p.Bytes()
	return p, nil
}

// bounds returns the nodes at which the ranks' ranges begin, and the number of nodes.
func (p *Partition) bounds() []int {
	bounds := make([]int, p.group.Size()+1)
	for rank := range p.group.Size() {
		bounds[rank], bounds[rank+1] = share(p.data.Nodes(), rank, p.group.Size())
	}
	return bounds
}

// Bytes returns the size of the graph and the features that this rank holds now.
func (p *Partition) Bytes() int64 {
	sum := p.data.Graph.Bytes()
	for _, s := range p.features {
		sum += s.x.Bytes()
	}
	return sum
}

// MostBytes returns the largest size that this rank has held in training, and the size of
// the whole graph and features, with P·X if a model has exact input.
func (p *Partition) MostBytes() (most, whole int64) { return p.most, p.whole }

// Sent returns the number of bytes that this rank has sent in fetches.
func (p *Partition) Sent() int64 {
	var sum int64
	for _, s := range p.features {
		sum += s.exchange.sent
	}
	if p.adjacency != nil {
		sum += p.adjacency.exchange.sent
	}
	return sum
}

// UpdateBytes estimates the number of bytes that a rank sends in an update of m: its share of
// the gradients, and rows for the other ranks. The estimate follows from the sizes of the
// sampler and, with PartsAll, from mean degrees: of the training nodes for output nodes, and
// for the others of nodes that the sampler draws below some of this rank's training nodes. A
// row that several mini-batches of a rank read is sent once, but counts for each of them.
// docs/distributed.md has the formula. All ranks call it.
func (p *Partition) UpdateBytes(ctx context.Context, m Model, o Options) (gradients, rows float64, err error) {
	model, err := partsOf(m)
	if err != nil {
		return 0, 0, err
	}
	params, err := parametersOf(model)
	if err != nil {
		return 0, 0, err
	}
	o = o.withDefaults()
	ranks := float64(p.group.Size())
	share := (ranks - 1) / ranks * float64(o.Micro) / ranks
	outputs := min(o.Batch, len(p.data.Split.Train))
	for _, s := range p.features {
		nodes := min(model.Batch.NominalFeatureRows(s.x, outputs), p.data.Nodes())
		rows += share * float64(nodes) * float64(4+s.exchange.size(0))
	}
	if p.adjacency != nil {
		rows += share * float64(outputs) * p.rowBytes(p.data.Split.Train)
		if model.Batch.Layers() > 1 {
			drawn, err := p.pilot(ctx, model.Batch.Sampler(), outputs, o.Seed)
			if err != nil {
				return 0, 0, err
			}
			for l := range model.Batch.Layers() - 1 {
				nodes, _ := model.Batch.Slot(l).Nominal()
				rows += share * float64(nodes) * p.rowBytes(drawn)
			}
		}
	}
	return 8 * (ranks - 1) / ranks * float64(parameterCount(params)+1), rows, nil
}

// rowBytes returns the mean number of bytes that a fetch of a row of the graph moves, over
// nodes: the row and its id.
func (p *Partition) rowBytes(nodes []int32) float64 {
	sum := 0.0
	for _, v := range nodes {
		sum += float64(p.adjacency.exchange.size(v))
	}
	return 4 + sum/float64(max(len(nodes), 1))
}

// errPilot ends the draw of a pilot.
var errPilot = errors.New("enough drawn")

// pilot returns nodes that s draws below some of this rank's training nodes, whose rows are
// here. It has random numbers of its own.
func (p *Partition) pilot(ctx context.Context, s samplers.Sampler, outputs int, seed uint64) (drawn []int32, err error) {
	const draws = 8
	var own []int32
	bounds := p.bounds()
	for _, v := range p.data.Split.Train {
		if int(v) >= bounds[p.group.Rank()] && int(v) < bounds[p.group.Rank()+1] {
			own = append(own, v)
		}
	}
	if v, ok := s.(interface{ Validate() error }); ok { // all ranks: it may gather
		if err := v.Validate(); err != nil {
			return nil, err
		}
	}
	if len(own) == 0 {
		return p.data.Split.Train, nil
	}
	var batch samplers.MiniBatch
	for k := range uint64(draws) {
		rng := rand.New(samplers.NewSource(^seed, k, k))
		rng.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		layer := 0
		ctx := samplers.WithRows(ctx, func(rows []int32) error {
			if layer++; layer == 1 {
				return nil
			}
			drawn = append(drawn, rows...)
			return errPilot
		})
		if err := s.Sample(ctx, own[:min(outputs, len(own))], rng, &batch); !errors.Is(err, errPilot) {
			return nil, fmt.Errorf("train: a pilot draw: %w", err)
		}
	}
	return drawn, nil
}

// check returns an error if a run cannot use p.
func (p *Partition) check(r *run) error {
	switch {
	case r.options.Group != p.group:
		return fmt.Errorf("train: Options.Partition belongs to another group of ranks")
	case r.data != p.data:
		return fmt.Errorf("train: Options.Partition belongs to other data")
	case r.model.Device != nil:
		return fmt.Errorf("train: a GPU keeps the whole features in its memory: with a partition train on the CPU, or let each rank hold all data")
	}
	if _, ok := r.model.Inference.(*layers.GCN); !ok {
		return fmt.Errorf("train: Options.Partition needs a model whose inference shares its rows over the ranks, such as GCN")
	}
	if p.adjacency == nil {
		return nil
	}
	sampler := r.stream.Sampler
	if !samplers.DrawsByLayer(sampler) {
		return fmt.Errorf("train: the sampler reads rows of the whole graph: with PartsAll, take one that draws layer by layer, such as LayerWise, Labor, Neighbor or Full, or take PartsFeatures")
	}
	if v, ok := sampler.(interface{ Validate() error }); ok {
		return v.Validate() // it may gather norms of columns, which no worker can
	}
	return nil
}

// stage fetches the rows that the mini-batches read. install makes them readable.
func (p *Partition) stage(ctx context.Context, batch *layers.Batch, items []*Item) error {
	for _, s := range p.features {
		s.rows = s.rows[:0]
		for _, item := range items {
			s.rows = batch.FeatureRows(s.x, item.Blocks, s.rows)
		}
		s.staged = nil
		if len(s.rows) == 0 {
			continue // the model does not read these features; so on all ranks
		}
		var err error
		if s.staged, err = s.exchange.fetch(ctx, s.exchange.missing(s.rows)); err != nil {
			return err
		}
	}
	return nil
}

// install makes the staged rows readable, in the place of the rows before.
func (p *Partition) install() {
	for _, s := range p.features {
		s.install(s.staged)
	}
	p.most = max(p.most, p.Bytes())
}

// copyWithRoom returns a copy of own values with room for fetched ones. The system gives
// memory to the room when it is used.
func copyWithRoom[T any](own []T) []T {
	values := make([]T, len(own), len(own)+len(own)/16)
	copy(values, own)
	return values
}

package samplers

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
)

// Prepare calls the method Prepare of s, if it has one. The method checks the sampler, and makes
// what all its batches need, such as probabilities of all nodes. After a call without an error,
// the fields must not change, and more calls do nothing. No other call may run at the same time.
//
// A sampler is prepared when it joins a graph (layers.NewBatch) or a stream of batches
// (train.Stream); ByName and Configure return prepared ones. Before you call Sample of a sampler of
// your own making, call Prepare.
func Prepare(s Sampler) error {
	if p, is := s.(interface{ Prepare() error }); is {
		return p.Prepare()
	}
	return nil
}

// preparation is the part that the samplers here have in common: whether Prepare has succeeded,
// Sample of those that draw layer by layer, and a workspace for each concurrent call. The zero
// value is ready.
type preparation struct {
	done       bool
	graphNodes int
	layers     LayerSampler // the sampler; nil for others
	pool       sync.Pool    // of *workspace, for concurrent calls
}

// prepare checks the Laplacian, the number of layers and the sizes of s, and calls rest, if not nil,
// unless an earlier call of it succeeded.
func (p *preparation) prepare(s Sampler, l *graph.Laplacian, layers int, sizes []int, rest func() error) error {
	if p.done {
		return nil
	}
	for k, n := range sizes {
		if n <= 0 {
			return fmt.Errorf("samplers: sample size %d of layer %d from the output, want at least 1", n, k+1)
		}
	}
	switch name := strings.TrimPrefix(fmt.Sprintf("%T", s), "*samplers."); {
	case layers <= 0:
		return fmt.Errorf("samplers: %s with %d layers, want at least 1", name, layers)
	case l == nil:
		return fmt.Errorf("samplers: %s needs a Laplacian", name)
	}
	p.layers, _ = s.(LayerSampler)
	p.graphNodes, p.pool.New = l.Nodes(), func() any { return new(workspace) }
	err := l.Validate()
	if err == nil && rest != nil {
		err = rest()
	}
	p.done = err == nil
	return err
}

// workspace returns memory that no other call uses. The caller puts it back into the pool.
func (p *preparation) workspace() *workspace { return p.pool.Get().(*workspace) }

var errUnprepared = errors.New("samplers: the sampler is not prepared: call samplers.Prepare before its first batch")

// checkSeeds returns an error before Prepare, and the one of CheckSeeds.
func (p *preparation) checkSeeds(seeds []int32) error {
	if !p.done {
		return errUnprepared
	}
	w := p.workspace()
	defer p.pool.Put(w)
	return w.sample.set.check("seed", seeds, p.graphNodes)
}

// workspace is the memory of one call of a sampler, for one layer or one subgraph.
type workspace struct {
	neighborhood            // of the rows, or the numbers of the nodes drawn
	population   Population // the candidates of a draw
	sample       Sample
	local        []int32   // of each candidate: its number among the input nodes, or −1
	own          []int32   // of each row: its number among the input nodes
	values       []float64 // of each entry or node, by the sampler
	factors      []float32 // of each node, by the sampler
	sampled      []float32 // of each node: the entry of one row of P̃, while a control is made; else 0
}

// CheckSeeds returns an error unless seeds are distinct nodes of a graph of that many nodes, and
// at least one. Every Sampler refuses other seeds. Cost: O(len(seeds)).
func CheckSeeds(seeds []int32, nodes int) error { return new(nodeTable).check("seed", seeds, nodes) }

// check is CheckSeeds for nodes of the given kind. The table has their numbers afterwards.
func (t *nodeTable) check(kind string, nodes []int32, all int) error {
	if len(nodes) == 0 {
		return fmt.Errorf("samplers: there is no %s, want at least one", kind)
	}
	t.reset(len(nodes))
	for k, v := range nodes {
		if v < 0 || int(v) >= all {
			return fmt.Errorf("samplers: %s %d is node %d, outside [0, %d)", kind, k, v, all)
		}
		if _, isNew := t.add(v); !isNew {
			return fmt.Errorf("samplers: %s %d is node %d, which is a %s already", kind, k, v, kind)
		}
	}
	return nil
}

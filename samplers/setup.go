package samplers

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
)

var errNoSeeds = errors.New("samplers: a batch needs at least one seed node")

// preparation runs a sampler's checks, and its work before the first batch, once.
// Concurrent calls wait for it. The zero value is ready.
type preparation struct {
	once sync.Once
	err  error
}

// do runs f at the first call, and returns the error of that run at every call.
func (p *preparation) do(f func() error) error {
	p.once.Do(func() { p.err = f() })
	return p.err
}

// checkSized checks the Laplacian and the sizes of a sampler.
func checkSized(sampler string, p *graph.Laplacian, sizes []int) error {
	if err := checkLaplacian(sampler, p); err != nil {
		return err
	}
	return checkSizes(sizes)
}

// checkDeep checks the Laplacian and the depth of a sampler.
func checkDeep(sampler string, p *graph.Laplacian, depth int) error {
	if depth <= 0 {
		return fmt.Errorf("samplers: %s with %d layers, want at least 1", sampler, depth)
	}
	return checkLaplacian(sampler, p)
}

func checkLaplacian(sampler string, p *graph.Laplacian) error {
	if p == nil {
		return fmt.Errorf("samplers: %s needs a Laplacian", sampler)
	}
	return p.Validate()
}

// checkUndirected refuses a directed graph, for samplers whose estimates need A to be
// symmetric.
func checkUndirected(sampler string, p *graph.Laplacian) error {
	if p != nil && p.Directed {
		return fmt.Errorf("samplers: %s needs an undirected graph; methods that take nodes or neighbours layer by layer, such as ladies and neighbor, also take a directed one", sampler)
	}
	return nil
}

func checkSizes(sizes []int) error {
	if len(sizes) == 0 {
		return errors.New("samplers: no sample sizes given, want one per layer")
	}
	for l, n := range sizes {
		if n <= 0 {
			return fmt.Errorf("samplers: sample size %d of layer %d from the output, want at least 1", n, l+1)
		}
	}
	return nil
}

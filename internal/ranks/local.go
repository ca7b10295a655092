package ranks

import (
	"context"
	"fmt"
	"slices"
)

// localGroup is a rank that runs as a goroutine of this process.
type localGroup struct {
	rank     int
	channels [][]chan []float32 // [from][to]
}

// NewLocal returns the ranks of a group of goroutines in this process. Each goroutine
// trains a model of its own.
func NewLocal(size int) []Group {
	channels := make([][]chan []float32, size)
	for from := range channels {
		channels[from] = make([]chan []float32, size)
		for to := range channels[from] {
			channels[from][to] = make(chan []float32, 1)
		}
	}
	groups := make([]Group, size)
	for rank := range groups {
		groups[rank] = &localGroup{rank: rank, channels: channels}
	}
	return groups
}

func (g *localGroup) Rank() int { return g.rank }
func (g *localGroup) Size() int { return len(g.channels) }

func (g *localGroup) Exchange(ctx context.Context, send, receive [][]float32) error {
	for to, part := range send {
		select {
		case g.channels[g.rank][to] <- slices.Clone(part):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for from, part := range receive {
		select {
		case got := <-g.channels[from][g.rank]:
			if len(got) != len(part) {
				return fmt.Errorf("ranks: rank %d sent %d values to rank %d, which expects %d", from, len(got), g.rank, len(part))
			}
			copy(part, got)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (g *localGroup) Gather(ctx context.Context, parts [][]float32) error {
	send := make([][]float32, len(parts))
	for to := range send {
		send[to] = parts[g.rank]
	}
	return g.Exchange(ctx, send, parts)
}

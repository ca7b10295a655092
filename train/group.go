package train

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/ranks"
	"github.com/gcn-layerwise/gcn/layers"
)

// Group is the processes that train one model together. They are called ranks. It has the
// methods
//
//	Rank() int // of this process, from 0
//	Size() int // number of ranks
//	Exchange(ctx context.Context, send, receive [][]float32) error
//	Gather(ctx context.Context, parts [][]float32) error
//
// Exchange sends send[r] to each rank r, and fills receive[r] with the values of rank r;
// receive[r] has the length of the values that rank r sends. Gather fills parts[r] with parts[r]
// of each rank r. Both return soon when ctx ends. All ranks call them in the same order. After an
// error the group cannot be used any more. A Group is for one goroutine.
//
// The command's ranks of an MPI launcher are a Group.
type Group = ranks.Group

// Broadcast returns rank 0's data on every rank of g. The other ranks' data are not used.
func Broadcast(ctx context.Context, g Group, data []byte) ([]byte, error) {
	return ranks.Broadcast(ctx, g, data)
}

// RanksError is an error that every rank of a group returns in the same update, such as a loss
// that is not finite on one of them. So one rank can report it for all. Its field Err is the error.
type RanksError = ranks.Error

// Partition is a data set that the ranks of a group hold together: each holds the features
// of a range of nodes, and fetches the rows that its mini-batches read. The next update's
// rows travel while this update computes. No bit of a result depends on it.
//
// Bytes returns the size of the graph and the features that this rank holds now, MostBytes the
// largest such size in training and the size of the whole, and Sent the bytes that this rank has
// sent in fetches. A Partition is for one goroutine, as its Group is.
type Partition = ranks.Partition

// NewPartition takes the rows of d away that other ranks of g hold: rows of features and, if graph
// is true, of the graph. All ranks call it with
// equal data, before they build models, samplers or Laplacians over d. Memory: the rank's
// own rows in a copy, and 4 bytes a node. A mapped store keeps none of its features in
// memory afterwards. It returns nil for a group of one rank.
func NewPartition(g Group, d *datasets.Data, graph bool) (*Partition, error) {
	if g == nil || g.Size() == 1 {
		return nil, nil
	}
	if err := checkParts(d); err != nil {
		return nil, err
	}
	fingerprint := Fingerprint(d)
	p, err := ranks.NewPartition(g, d, graph)
	if err != nil {
		return nil, named(err)
	}
	p.Fingerprint = fingerprint
	return p, nil
}

// checkPartition returns an error if a run cannot use its partition.
func (r *run) checkPartition() error {
	p := r.options.Partition
	switch {
	case r.options.Group != p.Group:
		return fmt.Errorf("train: Options.Partition belongs to another group of ranks")
	case r.data != p.Data:
		return fmt.Errorf("train: Options.Partition belongs to other data")
	case r.model.Device != nil:
		return fmt.Errorf("train: a GPU keeps the whole features in its memory: with a partition train on the CPU, or let each rank hold all data")
	}
	if _, ok := r.model.Inference.(*layers.GCN); !ok {
		return fmt.Errorf("train: Options.Partition needs a model whose inference shares its rows over the ranks, such as GCN")
	}
	return named(p.CheckSampler(r.stream.Sampler))
}

package layers

import (
	"cmp"
	"fmt"
	"slices"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// LabelInputs makes the labels of training nodes inputs of a GCN, beside the features (masked
// label prediction, Shi et al. 2021, arXiv:2009.03509, eq. 7; label as input, Wang et al. 2021,
// arXiv:2103.13355). Row v of Y is 1 at the class of node v, or ±1 for its binary tasks, if v
// gives its label, and 0 otherwise. The input layer computes
//
//	act(X·W + Y·V + 1⊗b).
//
// In a training step each of Nodes gives its label with probability Share. The seed of the step
// decides. An output node that gives its label does not count in the loss; the others count in
// the mean, or with LossWeights/(1−Share). So no logit in the loss has read the label of its
// own node. In inference all Nodes give their labels: the scores of other nodes have not read
// their own label, but the scores of Nodes have.
//
// The model must have an InputLayer, and no histories: a kept activation may hold the labels
// of a later mini-batch's output nodes.
type LabelInputs struct {
	Nodes []int32 // the training nodes; required
	Share float64 // of the nodes that give their labels in a step; 0 means 0.5
}

// labelSeed separates the decisions of LabelInputs from the other uses of a step's seed.
const labelSeed = 0x6c6162656c730001

// labelInputs holds the labels that a batch gives to the model.
type labelInputs struct {
	targets *ops.Targets // of the input nodes
	share   float64
	known   []float32 // by node: 1 if it may give its label, or 0

	// Memory of set:
	given  []float32
	except []bool
	losses []float32
}

// newLabelInputs checks the options against the labels.
func newLabelInputs(o *LabelInputs, y *graph.Labels) (*labelInputs, error) {
	share := cmp.Or(o.Share, 0.5)
	if !(share > 0 && share < 1) {
		return nil, fmt.Errorf("layers: label inputs of a share of %v: want a number between 0 and 1", share)
	}
	l := &labelInputs{
		targets: ops.NewTargets(y),
		share:   share,
		known:   make([]float32, y.Nodes()),
	}
	for k, v := range o.Nodes {
		if v < 0 || int(v) >= len(l.known) {
			return nil, fmt.Errorf("layers: label inputs: node %d is %d, outside the %d labelled nodes", k, v, len(l.known))
		}
		l.known[v] = 1
	}
	if !slices.ContainsFunc(o.Nodes, func(v int32) bool { return y.Known(int(v)) }) {
		return nil, fmt.Errorf("layers: label inputs: the data have no training node with a label, which the model reads")
	}
	return l, nil
}

// weight is 1 if node v may give its label, else 0: also outside the labels, where Targets.Set refuses
// the node.
func (l *labelInputs) weight(v int32) float32 {
	if v < 0 || int(v) >= len(l.known) {
		return 0
	}
	return l.known[v]
}

// gives reports whether node v gives its label in the step of a seed.
func (l *labelInputs) gives(v int32, seed uint64) bool {
	u := splitmix.Output(splitmix.Hash(seed^labelSeed), uint64(v)+1)
	return l.weight(v) > 0 && float64(u>>11)*0x1p-53 < l.share
}

// set chooses the labels of batch's input nodes. It returns the output nodes that do not count
// in the loss, and the weights of the others. Evaluation takes all labels and all nodes.
func (l *labelInputs) set(batch *samplers.MiniBatch, training bool, seed uint64) (except []bool, losses []float32, err error) {
	l.given = l.given[:0]
	for _, v := range batch.Inputs() {
		weight := l.weight(v)
		if training && !l.gives(v, seed) {
			weight = 0
		}
		l.given = append(l.given, weight)
	}
	if err := l.targets.Set(batch.Inputs(), l.given); err != nil || !training {
		return nil, batch.LossWeights, err
	}
	l.except, l.losses = l.except[:0], l.losses[:0]
	for _, v := range batch.Outputs() {
		l.except = append(l.except, l.gives(v, seed))
	}
	for _, w := range batch.LossWeights {
		l.losses = append(l.losses, float32(float64(w)/(1-l.share)))
	}
	return l.except, l.losses, nil
}

// addLabels adds the labels that the input nodes give to the input layer's z.
func (b *builder) addLabels(z *G.Node) *G.Node {
	for k, slot := range b.Batch.slots {
		if slot.KeepsHistory() {
			return b.node(nil, fmt.Errorf("layers: label inputs with histories: activations kept below convolution %d may hold labels of a later mini-batch's output nodes; leave one of them out", k))
		}
	}
	l, err := newLabelInputs(b.o.LabelInputs, b.y)
	if err != nil {
		return b.node(nil, err)
	}
	w := b.weight("labels", b.y.Outputs(), b.o.Hidden)
	b.labels = l
	b.Batch.labels = l
	rows := b.node(ops.TargetInputs(b.Batch.Graph(), l.targets, z.Shape()[0]))
	return b.node(ops.Add(z, b.node(ops.MatMul(rows, w))))
}

package reference

import "math/rand/v2"

// Training is the paper's protocol (section 6 and A.1), as its program runs it.
type Training struct {
	P       Matrix  // the Laplacian
	X       Matrix  // the features of all nodes
	Y       []int32 // the class of each node
	Train   []int32 // V_train, the training nodes
	Batches int     // mini-batches of an epoch; 10 in the paper's program
	Batch   int     // nodes of a mini-batch; 512 in the paper's program
	Sizes   []int   // nodes drawn in each layer, input layer first
	Flat    bool    // the probabilities of equation 7, not 2

	// Dropout is the rate after each layer but the last. The paper's program drops 20 % after
	// each convolution, and again before the classifier, so a 2-layer GCN has the rates 0.2
	// and 1 − 0.8² = 0.36.
	Dropout []float64
}

// Epoch trains the model for one epoch, and returns the mean loss of its mini-batches.
func (t Training) Epoch(model GCN, adam *Adam, rng *rand.Rand) float64 {
	mean := 0.0
	for range t.Batches {
		batch := make([]int32, t.Batch) // random training nodes, all distinct
		for k, i := range rng.Perm(len(t.Train))[:t.Batch] {
			batch[k] = t.Train[i]
		}
		blocks := Sample(t.P, batch, t.Sizes, t.Flat, rng)
		var masks []Matrix
		for l, rate := range t.Dropout {
			masks = append(masks, Mask(len(blocks[l].Dst), len(model.W[l][0]), rate, rng))
		}
		loss, gradient := model.Step(blocks, t.X, t.Y, nil, masks)
		adam.Step(model.Parameters(), gradient.Parameters())
		mean += loss / float64(t.Batches)
	}
	return mean
}

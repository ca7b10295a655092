package train

import (
	"context"
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Predict returns m's logits for nodes, computed over full neighbourhoods:
// (len(nodes), outputs), row-major, in the order of nodes, which may repeat. It uses the model's
// Inference if there is one, and otherwise compiles the model. The parameters do not
// change, and a program of m can be used as before.
func Predict(ctx context.Context, m Model, d *datasets.Data, nodes []int32) (logits []float32, err error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if err := checkParts(d); err != nil {
		return nil, err
	}
	parts, err := partsOf(m)
	if err != nil {
		return nil, err
	}
	if parts.Inference != nil {
		return predict(ctx, parts, nil, d, nodes)
	}
	params, err := parametersOf(parts)
	if err != nil {
		return nil, err
	}
	// The program below moves the parameters to its own memory. They are moved back,
	// because an earlier program of the model expects them in its memory.
	before := make([]G.Value, len(params))
	for k, q := range params {
		before[k] = q.node.Value()
	}
	program, err := compile(parts) // allowed during training, from Options.Progress
	if err == nil {
		logits, err = predict(ctx, parts, program, d, nodes)
		err = join(err, program.Close())
	}
	for k, q := range params {
		if letErr := G.Let(q.node, before[k]); letErr != nil {
			err = join(err, fmt.Errorf("train: parameter %q: %w", q.Name, letErr))
		}
	}
	if err != nil {
		return nil, err
	}
	return logits, nil
}

// Evaluate returns the data set's metric of m on nodes: Score of Predict.
func Evaluate(ctx context.Context, m Model, d *datasets.Data, nodes []int32) (float64, error) {
	scores, err := Predict(ctx, m, d, nodes)
	if err != nil {
		return 0, err
	}
	return Score(d.Metric, scores, d.Labels, nodes)
}

// predict is Predict with a program for models without inference of their own.
func predict(ctx context.Context, m *layers.Model, program *Program, d *datasets.Data, nodes []int32) ([]float32, error) {
	if len(nodes) == 0 {
		return nil, nil // for an Inferencer, nil means all nodes
	}
	for i, node := range nodes {
		if node < 0 || int(node) >= d.Nodes() {
			return nil, fmt.Errorf("train: node %d to predict is %d, outside [0, %d)", i, node, d.Nodes())
		}
	}
	var logits []float32
	var err error
	if m.Inference != nil {
		logits, err = m.Inference.Infer(ctx, d.Laplacian(), d.Features, nodes)
	} else {
		distinct, rows := distinctNodes(nodes)
		logits, err = predictByProgram(ctx, m, program, d, distinct)
		logits = repeated(logits, rows, d.Labels.Outputs())
	}
	if err != nil {
		return nil, err
	}
	if want := len(nodes) * d.Labels.Outputs(); len(logits) != want {
		return nil, fmt.Errorf("train: the model gives %d logits for %d nodes, want %d", len(logits), len(nodes), want)
	}
	return logits, nil
}

// inferenceChunk is the number of output nodes in one run of the program. A large chunk
// saves work, because neighbourhoods overlap, but takes memory.
const inferenceChunk = 2048

func predictByProgram(ctx context.Context, m *layers.Model, program *Program, d *datasets.Data, nodes []int32) ([]float32, error) {
	sampler := &samplers.Full{Laplacian: d.Laplacian(), Depth: m.Batch.Layers()}
	var batch samplers.MiniBatch
	logits := make([]float32, 0, len(nodes)*d.Labels.Outputs())
	for lo := 0; lo < len(nodes); lo += inferenceChunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		chunk := nodes[lo:min(lo+inferenceChunk, len(nodes))]
		if err := sampler.Sample(ctx, chunk, nil, &batch); err != nil {
			return nil, fmt.Errorf("train: inference: %w", err)
		}
		rows, err := program.Forward(&batch)
		if err != nil {
			return nil, fmt.Errorf("train: inference: %w", err)
		}
		logits = append(logits, rows...)
	}
	return logits, nil
}

// distinctNodes returns the nodes without repetitions, and the row of each node among them.
// The rows are nil if no node is repeated.
func distinctNodes(nodes []int32) (distinct []int32, rows []int) {
	place := make(map[int32]int, len(nodes))
	for k, v := range nodes {
		row, seen := place[v]
		if !seen {
			row = len(place)
			place[v] = row
		} else if rows == nil {
			distinct = append(distinct, nodes[:k]...)
			rows = make([]int, k, len(nodes))
			for i := range rows {
				rows[i] = i
			}
		}
		if rows != nil {
			rows = append(rows, row)
			if !seen {
				distinct = append(distinct, v)
			}
		}
	}
	if rows == nil {
		return nodes, nil
	}
	return distinct, rows
}

// repeated returns the given rows of a matrix; nil rows mean all.
func repeated(values []float32, rows []int, columns int) []float32 {
	if rows == nil || values == nil {
		return values
	}
	all := make([]float32, 0, len(rows)*columns)
	for _, row := range rows {
		all = append(all, values[row*columns:(row+1)*columns]...)
	}
	return all
}

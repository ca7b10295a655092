package train

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// OpenRun returns the model of a run that gcn train made, as OpenGCN does, and the run's data,
// from the location that its config.json names.
func OpenRun(ctx context.Context, dir string) (*layers.GCN, *datasets.Data, error) {
	config, err := ReadConfig(dir)
	if err != nil {
		return nil, nil, err
	}
	spec, ok := config["data"].(string)
	if !ok {
		return nil, nil, fmt.Errorf("train: %s: the run's config.json names no data: open them yourself, and call OpenGCN", dir)
	}
	schema, err := ReadSchema(dir)
	if err != nil {
		return nil, nil, err
	}
	data, err := datasets.Open(ctx, spec, datasets.Options{Schema: schema})
	if err != nil {
		return nil, nil, fmt.Errorf("train: the data of %s: %w", dir, err)
	}
	model, err := OpenGCN(dir, data)
	if err != nil {
		data.Close() // it was only read
		return nil, nil, err
	}
	return model, data, nil
}

// OpenGCN returns the model of a run that gcn train made, from its folder, with the
// parameters of the best validation score. It is for inference: a batch of it has full
// neighbourhoods. data must be the run's, or have the same features and classes; the field
// data of ReadConfig has their SPEC. A run whose model it does not know is an error.
func OpenGCN(dir string, data *datasets.Data) (*layers.GCN, error) {
	if err := checkParts(data); err != nil {
		return nil, err
	}
	schema, err := ReadSchema(dir)
	if err != nil {
		return nil, err
	}
	if err := schema.Check(data); err != nil {
		return nil, fmt.Errorf("train: %s: %w", dir, err)
	}
	config, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", dir, err)
	}
	run := runModel{Model: "program", Conv: "gcn", Activation: "elu", HiddenResidual: "none", Jumping: "none", Layers: 2}
	if err := json.Unmarshal(text, &run); err != nil {
		return nil, fmt.Errorf("train: %s: %w", dir, err)
	}
	options, err := run.options()
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", dir, err)
	}
	if run.LabelInputs > 0 {
		options.LabelInputs = &layers.LabelInputs{Nodes: data.Split.Train, Share: run.LabelInputs}
	}
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: data.Laplacian(), Depth: run.Layers})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, options)
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", dir, err)
	}
	if _, err := LoadParameters(dir, model); err != nil {
		return nil, err
	}
	return model, nil
}

// runModel holds the options in a run's config.json that change its scores.
type runModel struct {
	Model, Conv, Activation string
	Layers, Hidden          int
	LayerNorm               bool    `json:"layer_norm"`
	BatchNorm               bool    `json:"batch_norm"`
	BiasAfter               bool    `json:"bias_after"`
	InputLayer              bool    `json:"input_layer"`
	LabelInputs             float64 `json:"label_inputs"`
	PreNorm                 bool    `json:"pre_norm"`
	FeedForward             bool    `json:"feed_forward"`
	OwnState                bool    `json:"own_state"`
	Residual                bool
	HiddenResidual          string `json:"hidden_residual"`
	Jumping                 string
	Heads                   int
	OutputHeads             int `json:"output_heads"`
}

// options returns the options of the model. A value that it does not know is an error.
func (r runModel) options() (layers.GCNOptions, error) {
	forms := map[string]layers.Form{"program": layers.FormProgram, "equation": layers.FormEquation}
	o := layers.GCNOptions{Hidden: r.Hidden, LayerNorm: r.LayerNorm, BatchNorm: r.BatchNorm, OwnState: r.OwnState, BiasAfter: r.BiasAfter, InputLayer: r.InputLayer, PreNorm: r.PreNorm, FeedForward: r.FeedForward, Residual: r.Residual}
	form, known := forms[r.Model]
	activation := slices.IndexFunc(ops.Activations(), func(a ops.Activation) bool { return a.String() == r.Activation })
	residual, jumping := slices.Index(layers.ResidualNames(), r.HiddenResidual), slices.Index(layers.JumpingNames(), r.Jumping)
	if r.Conv == "gat" {
		o.Heads, o.OutputHeads = r.Heads, r.OutputHeads
	}
	switch {
	case r.Conv != "gcn" && (r.Conv != "gat" || r.Heads < 1):
		return o, fmt.Errorf("a run of --conv %s --heads %d, which this program does not know", r.Conv, r.Heads)
	case !known || activation < 0 || residual < 0 || jumping < 0:
		return o, fmt.Errorf("a run of --model %s --activation %s --hidden-residual %s --jumping %s, which this program does not know", r.Model, r.Activation, r.HiddenResidual, r.Jumping)
	case r.Layers < 1:
		return o, fmt.Errorf("a run of %d layers", r.Layers)
	}
	o.Form, o.Activation = form, ops.Activations()[activation]
	o.HiddenResidual, o.Jumping = layers.Residual(residual), layers.Jumping(jumping)
	return o, nil
}

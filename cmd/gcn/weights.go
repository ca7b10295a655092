package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/weights"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

func newExportCommand() *cobra.Command {
	var o struct {
		Run string `json:"run" arg:"DIR" need:"the folder of a training run" help:"the run's folder DIR; required"`
		Out string `json:"out" arg:"FILE" need:"a file ending in .safetensors" help:"FILE to write, ending in .safetensors; required"`
	}
	return newCommand("export --run DIR --out FILE.safetensors", &o, func(cmd *cobra.Command) (any, error) {
		if err := weights.CheckName(o.Out); err != nil {
			return nil, usagef("--out %w", err)
		}
		r, err := openRun(cmd.Context(), o.Run, run.OpenOptions{})
		if err == nil {
			err = train.ExportParameters(o.Out, r.Model)
		}
		return map[string]string{"run_dir": o.Run, "out": o.Out}, err
	})
}

// importOptions are the options of training that describe a model.
var importOptions = []string{"data", "model", "conv", "heads", "output-heads", "layers", "hidden", "activation", "bias-after", "layer-norm", "batch-norm", "residual", "hidden-residual", "input-layer", "pre-norm", "feed-forward"}

func newImportCommand() *cobra.Command {
	var o struct {
		Square string   `json:"square" choice:"outputs-first|inputs-first" help:"the order of square weights if their names do not tell it: outputs-first, as in PyTorch's Linear, or inputs-first, as in DGL's GraphConv (default: an error)"`
		Map    repeated `json:"map" arg:"FILE-NAME=OUR-NAME,…" help:"the model's layers of layers in the file, FILE-NAME=OUR-NAME,…, such as convs.0=conv0; or tensors, such as W1=conv0.weight (default: by numbers and shapes)"`
		Out    string   `json:"out" arg:"DIR" need:"the folder to make" help:"folder DIR to make; required"`
	}
	return newCommand("import FILE --data SPEC --out DIR", &o, func(cmd *cobra.Command) (any, error) {
		how := train.ImportOptions{
			Square: map[string]train.Square{"outputs-first": train.SquareOutputsFirst, "inputs-first": train.SquareInputsFirst}[o.Square],
			Layers: map[string]string{},
		}
		for pair := range strings.FieldsFuncSeq(strings.Join(o.Map, ","), func(r rune) bool { return r == ',' }) {
			theirs, ours, found := strings.Cut(pair, "=")
			if !found {
				return nil, usagef("--map %s: want FILE-NAME=OUR-NAME", pair)
			}
			how.Layers[theirs] = ours
		}
		j, model, err := newModel(cmd, "full") // no sample is drawn
		if err != nil {
			return nil, err
		}
		how.Mean = j.data.Directed
		found, err := train.ImportParameters(cmd.Context(), cmd.Flags().Arg(0), model, how)
		if err == nil {
			err = train.SaveRun(o.Out, model, j.data, j.Fit().Config)
		}
		return map[string]any{"run_dir": o.Out, "parameters": found}, err
	}, importOptions...)
}

// newModel checks the options of training on the command line, opens the data and builds the
// model, with a method of its own if none is given.
func newModel(cmd *cobra.Command, method string) (*trainJob, *layers.GCN, error) {
	j := newTrainJob(cmd.ErrOrStderr())
	j.line = append([]run.Value{{Option: "method", Text: method}}, run.Values(cmd.Flags())...)
	if slices.ContainsFunc(j.line, isAuto) {
		return nil, nil, usagef("--samples auto is for gcn train")
	}
	if err := j.begin(cmd.Context()); err != nil {
		return nil, nil, err
	}
	model, err := j.NewModel(cmd.Context(), j.data)
	return j, model, err
}

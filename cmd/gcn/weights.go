package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/weights"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

func newExportCommand() *cobra.Command {
	var o struct {
		Run string `json:"run" arg:"DIR" need:"the folder of a training run" help:"the run's folder DIR; required"`
		Out string `json:"out" arg:"FILE" need:"a file ending in .safetensors or .npz" help:"FILE to write, ending in .safetensors or .npz; required"`
	}
	return newCommand(&cobra.Command{
		Use:   "export --run DIR --out FILE.safetensors|.npz",
		Short: "Write a trained model's weights for other programs",
		Long: `Write the weights of the best validation score, with their names. A weight is a
matrix (inputs, outputs): transpose it for PyTorch's Linear. The bias of a convolution is
inside the propagation, P(XW + b), unless the run has --bias-after: it is then named
conv0.bias_after.`,
		Example: `  gcn export --run runs/first --out first.safetensors
  gcn export --run runs/first --out first.npz`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := weights.CheckName(o.Out); err != nil {
				return usagef("--out %w", err)
			}
			r, err := openRun(cmd.Context(), o.Run, "", "cpu", nil)
			if err != nil {
				return err
			}
			if err := train.ExportParameters(o.Out, r.Model); err != nil {
				return err
			}
			say(cmd.OutOrStdout(), "weights of %s written to %s", r.Dir, o.Out)
			return nil
		},
	}, &o)
}

// importOptions are the options of training that describe a model.
var importOptions = []string{"data", "model", "conv", "heads", "output-heads", "layers", "hidden", "activation", "bias-after", "layer-norm", "batch-norm", "residual", "hidden-residual", "input-layer", "label-inputs", "pre-norm", "feed-forward", "jumping"}

func newImportCommand() *cobra.Command {
	var o struct {
		Square string   `json:"square" choice:"outputs-first|inputs-first" help:"the order of square weights if their names do not tell it: outputs-first, as in PyTorch's Linear, or inputs-first, as in DGL's GraphConv (default: an error)"`
		Map    []string `json:"map" arg:"FILE-NAME=OUR-NAME,…" help:"the model's layers of layers in the file, FILE-NAME=OUR-NAME,…, such as convs.0=conv0; or tensors, such as W1=conv0.weight (default: by numbers and shapes)"`
		Out    string   `json:"out" arg:"DIR" need:"the folder to make" help:"folder DIR to make; required"`
	}
	cmd := &cobra.Command{
		Use:   "import FILE --data SPEC --out DIR",
		Short: "Make a run's folder of weights from another program",
		Long: `Make a run's folder of weights, for gcn eval, gcn predict and gcn export. FILE is a
.safetensors or .npz file, or a .pt or .pth file with a model's state_dict, as torch.save
writes it. Nothing in the file is executed.

The layers are matched by the names that gcn export writes, else by the numbers in their
names and by their shapes; the result is printed. Where both leave a choice, --map names the
layers. The names of GCNConv (PyTorch Geometric), GraphConv (DGL) and Linear are known; these
need --bias-after. Weights are transposed where they are (outputs, inputs).`,
		Example: `  gcn import model.pt --data npy:mygraph --model equation --hidden 16 --activation relu --bias-after --out runs/torch
  gcn import other.pt --data npy:mygraph --hidden 16 --bias-after --map conv_in=conv0,conv_out=conv1 --out runs/other
  gcn eval --run runs/torch`,
		Args: exactly(1, "import needs one FILE of weights"),
		RunE: func(cmd *cobra.Command, args []string) error {
			how := train.ImportOptions{
				Square: map[string]train.Square{"outputs-first": train.SquareOutputsFirst, "inputs-first": train.SquareInputsFirst}[o.Square],
				Layers: map[string]string{},
			}
			for _, pair := range o.Map {
				theirs, ours, found := strings.Cut(pair, "=")
				if !found {
					return usagef("--map %s: want FILE-NAME=OUR-NAME", pair)
				}
				how.Layers[theirs] = ours
			}
			s, err := run.Load(nil, nil, nil, append(run.Values(cmd.Flags()), run.Value{Option: "method", Text: "full"})) // no sample is drawn
			if err != nil {
				return err
			}
			p, err := s.Plan()
			if err != nil {
				return err
			}
			data, err := openUnlabelled(cmd.Context(), p.Data)
			if err != nil {
				return err
			}
			if data.Unlabelled() {
				return fmt.Errorf("%s has no labels, which say how many classes there are", p.Data)
			}
			model, err := p.NewModel(cmd.Context(), data)
			if err != nil {
				return err
			}
			how.Mean = data.Directed
			found, err := train.ImportParameters(cmd.Context(), args[0], model, how)
			if err != nil {
				return err
			}
			if err := train.SaveRun(o.Out, model, data, p.Fit().Config); err != nil {
				return err
			}
			t := newTable(false)
			for _, one := range found {
				shape := fmt.Sprint(one.Shape)
				if one.Transposed {
					shape += " transposed"
				}
				t.row(one.Parameter, one.Tensor, shape)
			}
			t.print(cmd.OutOrStdout())
			say(cmd.OutOrStdout(), "%d parameters of %s in %s", len(found), args[0], o.Out)
			return nil
		},
	}
	addFlags(cmd, new(run.Settings), importOptions...)
	return newCommand(cmd, &o)
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/weights"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

func newExportCommand() *cobra.Command {
	var dir, out string
	cmd := &cobra.Command{
		Use:   "export --run DIR --out FILE.safetensors|.npz",
		Short: "Write a trained model's weights for other programs",
		Long: `Write the weights of the best validation score, with their names. A weight is a
matrix (inputs, outputs): transpose it for PyTorch's Linear. The bias of a convolution is
inside the propagation, P(XW + b), unless the run has --bias-after: it is then named
conv0.bias_after.`,
		Example: `  gcn export --run runs/first --out first.safetensors
  gcn export --run runs/first --out first.npz`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usagef("--out is needed: a file ending in .safetensors or .npz")
			}
			if err := weights.CheckName(out); err != nil {
				return usagef("--out %w", err)
			}
			runs, err := (&runFlags{dirs: []string{dir}, device: "cpu"}).open(cmd.Context())
			if err != nil {
				return err
			}
			if err := train.ExportParameters(out, runs[0].model); err != nil {
				return err
			}
			return printLine(cmd.OutOrStdout(), "weights of %s written to %s", runs[0].dir, out)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&dir, "run", "", "the run's folder `DIR`; required")
	fs.StringVar(&out, "out", "", "`FILE` to write, ending in .safetensors or .npz; required")
	return cmd
}

// importOptions are the options of training that describe a model.
var importOptions = []string{"data", "model", "conv", "heads", "output-heads", "plain-attention", "layers", "hidden", "activation", "bias-after", "layer-norm", "batch-norm", "residual", "hidden-residual", "input-layer", "label-inputs", "pre-norm", "feed-forward", "own-state", "jumping"}

func newImportCommand() *cobra.Command {
	var o trainOptions
	var out, square string
	var layers map[string]string
	all := pflag.NewFlagSet("import", pflag.ContinueOnError)
	o.flags(all)
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
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	for _, name := range importOptions {
		fs.AddFlag(all.Lookup(name))
	}
	fs.StringVar(&square, "square", "", "the order of square weights if their names do not tell it: outputs-first, as in PyTorch's Linear, or inputs-first, as in DGL's GraphConv (default: an error)")
	fs.StringToStringVar(&layers, "map", nil, "the model's layers of layers in the file, `FILE-NAME=OUR-NAME,…`, such as convs.0=conv0; or tensors, such as W1=conv0.weight (default: by numbers and shapes)")
	fs.StringVar(&out, "out", "", "folder `DIR` to make; required")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if out == "" {
			return usagef("--out is needed: the folder to make")
		}
		how, known := map[string]train.Square{"": train.SquareRefused, "outputs-first": train.SquareOutputsFirst, "inputs-first": train.SquareInputsFirst}[square]
		if !known {
			return usagef("--square %q: want outputs-first or inputs-first", square)
		}
		if err := all.Set("method", samplers.Methods()[0].Name); err != nil { // full: no sample is drawn
			return err
		}
		if err := o.check(all); err != nil {
			return err
		}
		data, err := openUnlabelled(cmd.Context(), o.Data)
		if err != nil {
			return err
		}
		if data.Unlabelled() {
			return fmt.Errorf("%s has no labels, which say how many classes there are", o.Data)
		}
		model, err := o.newModel(cmd.Context(), data)
		if err != nil {
			return err
		}
		found, err := train.ImportParameters(cmd.Context(), args[0], model, train.ImportOptions{Square: how, Layers: layers, Mean: data.Directed})
		if err != nil {
			return err
		}
		config := o.runConfig()
		config["seed"] = o.Seed
		if err := train.SaveRun(out, model, data, config); err != nil {
			return err
		}
		t := newTable(false)
		for _, one := range found {
			how := fmt.Sprint(one.Shape)
			if one.Transposed {
				how += " transposed"
			}
			t.row(one.Parameter, one.Tensor, how)
		}
		if err := t.print(cmd.OutOrStdout()); err != nil {
			return err
		}
		return printLine(cmd.OutOrStdout(), "%d parameters of %s in %s", len(found), args[0], out)
	}
	complete(cmd, "data", dataSpecs)
	return cmd
}

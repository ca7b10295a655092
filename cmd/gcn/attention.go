package main

import "github.com/spf13/pflag"

// attentionOptions choose between fixed and learned weights of the convolutions.
type attentionOptions struct {
	Conv             string
	Heads            int
	OutputHeads      int
	AttentionDropout float64
	PlainAttention   bool
}

const (
	convGCN = "gcn"
	convGAT = "gat"
)

func (o *attentionOptions) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Conv, "conv", convGCN, "gcn: weights of the Laplacian; gat: graph attention, which learns them")
	fs.IntVar(&o.Heads, "heads", 8, "with gat: heads of a hidden layer, which share --hidden")
	fs.IntVar(&o.OutputHeads, "output-heads", 1, "with gat and --model equation: heads of the last layer; their mean is the output")
	fs.Float64Var(&o.AttentionDropout, "attention-dropout", 0, "with gat: share of the coefficients dropped while training")
	fs.BoolVar(&o.PlainAttention, "plain-attention", false, "with gat: leave out the sampler's weights (biased)")
}

// check returns an error for the first option with a wrong value, or without effect.
func (o *attentionOptions) check(fs *pflag.FlagSet, hidden int, model string) error {
	if err := oneOf("conv", o.Conv, []string{convGCN, convGAT}); err != nil {
		return err
	}
	if o.Conv == convGCN {
		for _, name := range []string{"heads", "output-heads", "attention-dropout", "plain-attention"} {
			if fs.Changed(name) {
				return usagef("--%s: it is for --conv gat", name)
			}
		}
		return nil
	}
	if err := within("heads", o.Heads, 1, mostHidden); err != nil {
		return err
	}
	if err := within("output-heads", o.OutputHeads, 1, mostHidden); err != nil {
		return err
	}
	if hidden%o.Heads != 0 {
		return usagef("--hidden %d: want a multiple of --heads %d", hidden, o.Heads)
	}
	if model != modelEquation && fs.Changed("output-heads") {
		return usagef("--output-heads: it is for --model equation, whose last convolution gives the scores")
	}
	return nil
}

// addTo adds the options that have an effect to a run's config.json. A run without
// attention has none.
func (o *attentionOptions) addTo(config map[string]any) {
	if o.Conv == convGCN {
		return
	}
	config["conv"], config["heads"], config["attention_dropout"], config["plain_attention"] = o.Conv, o.Heads, o.AttentionDropout, o.PlainAttention
	if config["model"] == modelEquation {
		config["output_heads"] = o.OutputHeads
	}
}

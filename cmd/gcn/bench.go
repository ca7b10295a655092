package main

import (
	"github.com/spf13/cobra"
)

func newBenchCommand() *cobra.Command {
	return newGroup("bench", "Measure sampling, training steps, inference, several ranks, or the cost against the graph's size",
		`  gcn bench sampling --data synth:arxiv --methods ladies,ladies-flat-debiased --samples 512,1024
  gcn bench train --data synth:arxiv
  gcn bench infer --data synth:arxiv
  gcn bench ranks --data synth:arxiv
  gcn bench scale`,
		newBenchSamplingCommand(), newBenchTrainCommand(), newBenchInferCommand(), newBenchRanksCommand(), newBenchScaleCommand())
}

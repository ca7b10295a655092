package main

import (
	"github.com/spf13/cobra"
)

func newBenchCommand() *cobra.Command {
	return newGroup("bench", "Measure sampling, training steps or inference",
		`  gcn bench sampling --data synth:arxiv --methods ladies,ladies-flat-debiased --samples 512,1024
  gcn bench train --data synth:arxiv
  gcn bench infer --data synth:arxiv`,
		newBenchSamplingCommand(), newBenchTrainCommand(), newBenchInferCommand())
}

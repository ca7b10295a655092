// Command gcn trains, evaluates and benchmarks graph convolutional networks
// with layer-wise importance sampling.
//
//	            ┌─ train, tune ─▶ run folders ─▶ eval, predict, report
//	--data SPEC ┤
//	            ├─ datasets info, bench sampling|train|infer
//	            └─ study, reproduce ─▶ tables and figures
//
// Without arguments it is "gcn train" with its defaults, on a small generated
// graph. Results go to standard output, progress and messages to standard
// error. It exits with 0 when done, 1 after a failure, 2 for wrong usage and 130
// when interrupted, after a checkpoint.
//
// The command only wires packages together. The work is in datasets, samplers,
// layers and train, which Go programs can use as well.
package main

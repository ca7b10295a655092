// Package ops extends Gorgonia by the differentiable operations of a graph
// convolutional network over sampled blocks: sparse propagation, and the dense
// operations that Gorgonia lacks, gets wrong, or ties to the shapes of compile
// time.
//
//	samplers ─▶ Batch ─set─▶ Slot, Targets, Mode ─read by─▶ ┌─────────────────────┐
//	                                                        │ ops in a graph that │ ─▶ loss,
//	graph.Features ─────────────────────────────────▶       │ is compiled once    │    gradients
//	                                                        └─────────────────────┘
package ops

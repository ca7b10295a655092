// Package layers holds the parts of graph convolutional networks that carry
// parameters, the batch that connects an expression graph to a sampler, and the
// GCN of Chen et al. (2023) put together from them.
//
//	samplers.Sampler ─▶ Batch: a slot a layer, targets, mode ─┐
//	                                                          │ read at every run
//	graph.Features ─▶ Features ─▶ GraphConv ─▶ … ─▶ Linear ─▶ Loss ─▶ train
//
// A layer is its parameters, input nodes of a Gorgonia graph, and a Forward that
// adds the ops of package ops over them; any Gorgonia node that keeps the
// number of rows free may stand between two layers, as package ops lists. A
// model is built once over a Batch, before anything is sampled, and compiled
// once; each step sets the next sampled batch and runs the machine.
//
// # Parameters
//
// Parameters are float32 tensors bound to named input nodes: "conv0.weight" of
// shape (in, out), "conv0.bias" of shape (out), "norm0.gain". Names are unique
// in a graph, and checkpoints go by them. First values come from an
// Initialiser and a seeded generator.
//
// # Full neighbourhoods
//
// GCN.Infer computes logits outside the machine, layer by layer in chunks of
// rows, holding the outputs of at most two layers at a time. Other models can be
// run through their compiled graph over the batches of samplers.Full.
package layers

// Package layers holds the parts of graph convolutional networks that carry
// parameters, the batch that connects an expression graph to a sampler, and the
// GCN of Chen et al. (2023), which consists of them.
//
//	samplers.Sampler ─▶ Batch: a slot a layer, targets, mode ─┐
//	                                                          │ read at every run
//	graph.Features ─▶ Features ─▶ GraphConv ─▶ … ─▶ Linear ─▶ Loss ─▶ train
//
// A layer is a struct of parameters, which are input nodes of a Gorgonia graph, with a
// method Forward that adds ops over them. Plain Gorgonia nodes may stand between two
// layers; package ops lists them. A model is built over a Batch and compiled once, before
// any sampling. Each step sets the next sampled batch and runs the graph.
//
// # Parameters
//
// Parameters are float32 tensors bound to named input nodes: "conv0.weight" of
// shape (in, out), "conv0.bias" of shape (out), "norm0.gain". Names are unique in a
// graph; checkpoints use them. An Initialiser sets the first values, with a seeded
// generator.
//
// # Full neighbourhoods
//
// GCN.Infer runs the expression graph that training uses, layer by layer in chunks of rows:
// each row of a layer is computed once. It holds the outputs of at most two layers at a time.
// Package train does the same with other models.
package layers

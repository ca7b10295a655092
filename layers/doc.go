// Package layers holds the trainable parts of graph convolutional networks:
// parameters plus a Forward that adds ops to a Gorgonia graph, the batch whose
// slots connect that graph to a sampler, and the GCN model of the paper.
//
//	samplers.Sampler ─▶ Batch ─▶ slots, targets, mode
//	                                  │
//	graph.Features ─▶ Features ─▶ GraphConv ─▶ … ─▶ Linear ─▶ Loss ─▶ train
package layers

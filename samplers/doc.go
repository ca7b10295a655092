// Package samplers draws mini-batches of blocks from a graph.
//
//	graph.Laplacian    ─▶ ┌──────────────────────────────────┐
//	seed nodes, source ─▶ │ samplers: importance·draw·weight │ ─▶ MiniBatch of blocks ─▶ layers, train
//	                      └──────────────────────────────────┘
//
// The methods are
//
//   - layer-wise: LayerWise is FastGCN and LADIES, with their flat and debiased
//     forms (Chen, Xu, Hakkani-Tur, Jin, Yang & Zhu, "Calibrate and Debias
//     Layer-wise Sampling for Graph Convolutional Networks", TMLR 2023), and ASGCN learns
//     its probabilities;
//   - node-wise: Neighbor, also with control variates (VR-GCN), and Labor;
//   - subgraphs: Subgraph, with the laws of GraphSAINT and Cluster-GCN;
//   - Full: all neighbours.
//
// A layer-wise method consists of three independent choices, the fields of
// LayerWise: an Importance gives the candidate columns of P their unnormalised
// probabilities, a Draw picks s of them, and a Weight turns the drawn columns
// into an estimate of the sum over all of them. Neighbor makes the same three
// choices for each row.
//
// ByName returns a sampler by the name that the command uses. Package
// samplertest has the contract that every Sampler must pass, and statistics that
// check an estimator.
//
// # Notation
//
// Q selects the output rows of a layer. P^[i] is column i of the Laplacian, m the
// number of candidates (columns with positive probability), s the number of
// columns drawn. A drawn column is multiplied by its factor β_i, and the estimate
// of QPH is Σ β_i (QP)^[i] H_[i]. It is unbiased if E[β_i] = 1 for every
// candidate, where β_i = 0 if i is not drawn.
package samplers

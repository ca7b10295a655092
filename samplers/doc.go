// Package samplers draws mini-batches of blocks from a graph: layer by layer
// (FastGCN, LADIES, their flat and debiased forms: Chen, Xu, Hakkani-Tur, Jin,
// Yang & Zhu, "Calibrate and Debias Layer-wise Sampling for Graph Convolutional
// Networks", TMLR 2023), node by node (Neighbor, VRGCN, Labor), as subgraphs
// (SAINT, Cluster), and full neighbourhoods.
//
//	graph.Laplacian ─▶ ┌──────────────────────────────────┐
//	seeds, stream  ─▶  │ samplers: importance·draw·weight │ ─▶ Batch of blocks ─▶ ops, layers, train
//	                   └──────────────────────────────────┘
//
// A layer-wise method is three independent choices, and LayerWise shows them
// as three fields: an Importance gives the candidate columns of P their
// unnormalised probabilities, a Draw picks s of them, a Weight turns the drawn
// columns into an estimate of the sum over all of them. Neighbor takes the same
// three for each row by itself.
//
// Beside them stand the methods they are compared with: Full neighbourhoods,
// Labor, VRGCN with its control variates, and the subgraphs of SAINT and
// Cluster. ByName makes each of them by the name that the command uses.
// Package samplertest holds the contract that every Sampler must pass, one's own
// included, and the statistics to check an estimator with.
//
// # Notation
//
// Q selects the output rows of a layer, P^[i] is column i of the Laplacian, m
// the number of candidates (columns with positive probability), s the number of
// columns drawn, β_i the factor by which a drawn column is multiplied, so that
// the estimate of QPH is Σ β_i (QP)^[i] H_[i]. An estimate is unbiased if
// E[β_i] = 1 for every candidate, β_i counting as 0 where i is not drawn.
package samplers

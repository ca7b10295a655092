// Package graph holds what a graph neural network reads: the sparse adjacency
// matrix, the renormalized Laplacian over it, the features and labels of the
// nodes, and the sampled blocks of one mini-batch.
//
//	files ─▶ datasets ─▶ ┌───────────────────────────────┐
//	                     │ graph: CSR ─ Laplacian ─ Block │ ─▶ samplers ─▶ ops ─▶ layers ─▶ train
//	                     └───────────────────────────────┘
//
// Every other package of the module stands on this one; it imports none of
// them and knows nothing of Gorgonia.
//
// # Notation
//
// A is the symmetric adjacency matrix without self-loops, Ã = A+I, D̃ the
// diagonal matrix of the row sums of Ã, and P = D̃^-½ Ã D̃^-½ the renormalized
// Laplacian of Kipf & Welling (2017, arXiv:1609.02907). Nodes are numbered
// from 0 by int32; stored edges are counted by int64.
//
// Matrices are row-major. Nothing here is locked: values may be read from any
// number of goroutines as long as nobody writes.
package graph

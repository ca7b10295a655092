// Package graph has the types of a graph neural network's input: the sparse
// adjacency matrix, its renormalized Laplacian, the features and labels of the
// nodes, and the sampled blocks of a mini-batch.
//
//	                     ┌─────────────────────────┐                ┌──────────────┐
//	files ─▶ datasets ─▶ │ graph: CSR ─▶ Laplacian │ ─▶ samplers ─▶ │ graph: Block │ ─▶ ops ─▶ layers ─▶ train
//	                     └─────────────────────────┘                └──────────────┘
//
// It imports no other public package of the module, and knows nothing of Gorgonia.
//
// # Notation
//
// A is the symmetric adjacency matrix without self-loops, Ã = A+I, D̃ the
// diagonal matrix of the row sums of Ã, and P = D̃^-½ Ã D̃^-½ the renormalized
// Laplacian of Kipf & Welling (2017, arXiv:1609.02907). For a directed graph, A need not be
// symmetric, and P = D̃^-1 Ã. Nodes are numbered from 0 by int32; stored edges are counted
// by int64.
//
// Matrices are row-major. Nothing here is locked: any number of goroutines may read
// a value while no goroutine writes it.
package graph

// Package reference is the paper in plain Go: Chen, Xu, Hakkani-Tur, Jin, Yang & Zhu,
// "Calibrate and Debias Layer-wise Sampling for Graph Convolutional Networks", TMLR 2023.
// Read it first. It trains a GCN by layer-wise sampling, with dense matrices of float64 and
// the paper's formulas, and the fast packages are tested against it.
//
// # The order of the page
//
//	laplacian.go   P of a graph                                   section 2.1     package graph
//	sampling.go    probabilities p, the draw, weights β, blocks   2.2, 4.2, 5     package samplers
//	gcn.go         the model, its loss and its gradient           2.1, A.1        packages ops and layers
//	adam.go        a step of the optimiser                        A.1             package train
//	epoch.go       one epoch of training                          6, A.1          package train
//	matrix.go      dense matrices
//
// # Notation
//
// It is the paper's. Layers are counted from the input.
//
//	A, P       adjacency matrix and renormalised Laplacian, n×n
//	X = H^(0)  features of the nodes, a row for each of the n nodes
//	W, b       weight and bias of a layer
//	Z, H       output of a layer before and after the activation σ = ELU
//	Q          selects the rows of a layer: here a slice of node numbers
//	S          has the weights β of the drawn nodes on its diagonal
//	P̃ = QPS    the block of a layer, over the drawn nodes only
//	p          sampling probabilities of the n nodes; M^[i] is column i of M
//	I, s       the drawn nodes, and their number
//	m          candidates: nodes with p_i > 0
//	y, ℓ       class of a node, and its loss
//
// # Out of scope
//
// Speed and memory: P is dense, and Algorithm 1 is the printed loop in O(s²). Errors: a wrong
// argument panics. The graph is undirected and unweighted or weighted; each node has one
// class. Other samplers, models and optimisers, validation and early stopping are in the fast
// packages only. docs/paper.md lists the differences between the text and the program
// released with it; where they differ, this package says which of the two it follows.
package reference

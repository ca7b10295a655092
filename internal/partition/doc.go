// Package partition splits the nodes of a graph into parts of nearly equal size
// with few edges between them.
//
//	graph.CSR, number of parts ─▶ Multilevel ─▶ part of each node ─▶ samplers.Cluster
//
// It ignores the weights of edges, and is deterministic: the same graph and
// number of parts give the same split.
package partition

// Package partition splits the nodes of a graph into parts of nearly equal size
// with few edges between them.
//
//	                 ┌─▶ METIS, where libmetis is found at run time ─┐
//	graph.CSR, parts ┤                                               ├─▶ part of each node ─▶ samplers.Cluster
//	                 └─▶ Multilevel, built in ───────────────────────┘
//
// Both are deterministic: the same graph and number of parts give the same
// split. Weights of edges are not looked at.
package partition

// Package formats reads the files in which other programs keep data sets.
//
//	OGB, Planetoid, SAINT, SAGE, DGLReddit, NPZ, NPYFolder, EdgeList
//	      │                                                     ├─ part.go ──── tables, their columns and cells; package table cuts them
//	      │                                                     ├─ header.go ── first lines
//	      │                                                     ├─ ids.go, order.go ── ids of rows, order of nodes
//	      │                                                     └─ labels.go, features.go ── what the columns and JSON hold
//	      ├─ formats.go ───────────── reader: the Set, and the first error
//	      ├─ text.go, json.go ─────── numbers in lines, JSON of any length and its lists
//	      ├─ arrays.go ────────────── source: named arrays of NumPy, in files, archives and pickles
//	      └─ matrix.go, classes.go ── sparse matrices, graphs and labels of the arrays
//	      ▼
//	Set{Graph, Features, Labels, Split, Notes} ─▶ datasets
//
// There is one function or type for each format. Readers check every value and repair
// nothing in silence. They drop repeated edges and self-loops, and symmetrise the graph
// unless Set.Direction says otherwise. They know nothing of SPECs, random splits and
// normalisation: package datasets adds those, and validates the result. Errors begin with
// "datasets:", the package that users call, and name the file and the place in it. Within the
// package a fault is a panic, which readSet makes an error: a reader is a row of steps, and none
// of them runs on values that a fault left out.
package formats

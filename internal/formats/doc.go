// Package formats reads the files in which other programs keep data sets.
//
//	OGB, Planetoid, SAINT, SAGE, DGLReddit, NPZ, NPYFolder, EdgeList
//	      │
//	      ├─ text.go, json.go ─ text in blocks of lines, JSON of any length
//	      ├─ pickle.go ──────── Python's pickles, of a few classes
//	      └─ arrays.go ──────── NumPy arrays, sparse matrices
//	      ▼
//	Set{Graph, Features, Labels, Split, Notes} ─▶ datasets
//
// There is one file for each format, and one function or type. Readers check every
// value and repair nothing in silence; they symmetrise the graph and drop repeated
// edges and self-loops. They know nothing of SPECs, random splits and
// normalisation: package datasets adds those, and validates the result. Errors
// begin with "datasets:", the package that users call, and name the file and the
// place in it.
package formats

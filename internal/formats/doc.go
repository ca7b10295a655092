// Package formats reads the files in which other programs keep data sets.
//
//	OGB, Planetoid, SAINT, SAGE, DGLReddit, NPZ, NPYFolder, EdgeList
//	      │
//	      ├─ text.go, json.go ─────── text in blocks of lines, JSON of any length
//	      ├─ pickle.go ────────────── Python's pickles, of a few classes
//	      ├─ arrays.go ────────────── NumPy arrays
//	      └─ adjacency.go, sparsefeatures.go, nodelabels.go ─ the parts of a Set
//	      ▼
//	Set{Graph, Features, Labels, Split, Notes} ─▶ datasets
//
// There is one function or type for each format. Readers check every value and repair
// nothing in silence. They drop repeated edges and self-loops, and symmetrise the graph
// unless Set.Direction says otherwise. They know nothing of SPECs, random splits and
// normalisation: package datasets adds those, and validates the result. Errors begin with
// "datasets:", the package that users call, and name the file and the place in it.
package formats

// Package datasets opens data sets for training graph neural networks: an
// adjacency matrix, node features, labels and a split of the nodes. They come from
// files or from seeded synthetic models.
//
//	.npy .npz csv.gz pickle … ─▶ internal/formats ─┐
//	store (mapped), downloads                     ─┤
//	synth:NAME (no files)                         ─┴▶ datasets.Open ─▶ Data{Graph, Features, Labels, Split} ─▶ samplers, train
//
// A SPEC names a data set: SCHEME:PATH?key=value&key=value, such as "synth:demo",
// "npz:tolokers.npz?split=3" or "planetoid:planetoid/cora". List has the schemes with
// their keys. A SPEC without a scheme is the name of a data set that is downloaded once
// and kept in a cache; see Fetch. Options.Schemes adds a program's own schemes.
//
// Convert writes any data set as a store, a file that is mapped into memory when
// it is opened. See WriteStore, and Data.Close for how long its arrays live.
//
// # Promises of the readers
//
// Graphs come out undirected, unless a SPEC says directed=in or directed=out, and
// simple: symmetrised, de-duplicated, without self-loops (the propagation matrix adds its
// own). Data.Report counts these changes, Data.Notes names all others, and there are no
// more. Every value is checked: node ids in range, features finite, labels in range,
// splits disjoint and the training set not empty. A file that is damaged, cut short or of
// an unexpected kind gives one error that names the file and the place in it. Sizes that a
// file claims are checked against its length before memory is allocated. Readers do not
// panic. Pickles construct only arrays, sparse matrices, lists and dictionaries.
//
// # Out of scope
//
// Edge features, heterogeneous graphs of more than one node type, and edge- or
// graph-level tasks.
package datasets

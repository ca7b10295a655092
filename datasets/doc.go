// Package datasets turns files, and seeded synthetic models, into what a graph
// neural network trains on: an adjacency matrix, node features, labels and a
// split of the nodes.
//
//	.npy .npz csv.gz pickle …  ─┐
//	synth:NAME (no files)      ─┴▶ datasets.Open ─▶ Data{Graph, Features, Labels, Split} ─▶ samplers, train
//
// A data set is named by a SPEC, SCHEME:PATH?key=value&key=value, such as
// "synth:demo", "npz:tolokers.npz?split=3" or "planetoid:planetoid/cora".
// Schemes lists what is known, with the keys each understands; Options.Schemes
// adds a program's own. A SPEC without a scheme is the name of a data set that is
// downloaded once, see Fetch, and kept in a cache.
//
// Convert writes any of them as a store, a file that is opened by mapping it into
// memory: see WriteStore, and Data.Close for how long its arrays live.
//
// # What a reader promises
//
// Graphs come out undirected and simple: symmetrised, de-duplicated, without
// self-loops (the propagation matrix adds its own). Data.Report counts what
// that changed and Data.Notes says what else was done to the source; nothing
// else is changed. Every value is checked: node ids in range, features finite,
// labels in range, splits disjoint and the training set not empty. A file that
// is damaged, cut short or of an unexpected kind gives one error that names the
// file and the place in it, and sizes that a file claims are checked against its
// length before memory is asked for. Readers do not panic, and pickles construct
// nothing but arrays, sparse matrices, lists and dictionaries.
//
// # Out of scope
//
// Edge features, heterogeneous graphs beyond what is projected to one node
// type, and edge- or graph-level tasks.
package datasets

// Package notebook shows graphs, samplers and training runs in a notebook's cell.
//
//	                        ┌ Run         trains; curves while they grow; interrupt, go on
//	datasets ─▶ samplers ─▶ │ Sampling    what a sampler draws, and how far off it is
//	            layers      │ Comparison  runs of several methods, mean ± standard error
//	            study       │ Drawing     a few nodes and edges, coloured by prediction
//	                        └ Progress    how far it is, on one line
//	                                 │
//	                                 ▼
//	                   *Chart: SVG()    *Sheet: HTML()     the last value of a cell
//
// A Chart is a picture and a Sheet a table. Both know how to be shown by any
// front end that asks values for SVG() or HTML(), as the gophernotes kernel does
// with the last value of a cell; String() serves the others. Nothing here knows a
// kernel: what is shown while a cell is running goes through a function that the
// caller hands over.
//
// # From the interpreter
//
// The kernel interprets cells, and its interpreter has no generic functions and
// no iterators. Neither is needed here: there are structs with methods, slices
// and plain functions. Errors are returned as everywhere; Must turns one into the
// panic by which a cell fails.
//
// # Interrupting
//
// Jupyter interrupts a cell by sending its kernel SIGINT. Run.Fit and
// Interruptible end their work by its context then, and return what there is. The
// kernel in notebooks/kernel survives the signal; others may not.
//
// # Out of scope
//
// Charts with axes are package study/figure's; the studies, package study's.
package notebook

// Package notebook shows tables, charts and training runs in a notebook's cell.
//
//	                        ┌ Run         trains; curves while they grow; interrupt, go on
//	datasets ─▶ samplers ─▶ │ Comparison  runs of several methods, mean ± standard error
//	            layers      └ Progress    progress of some work, on one line
//	                                 │
//	                                 ▼
//	              *Chart: SVG(), PNG()    *Sheet: HTML()   the last value of a cell
//
// A Chart is a picture and a Sheet a table. Any front end can show them that calls
// SVG(), PNG() or HTML() of values, as the gophernotes kernel does with the last value of a
// cell. Other front ends use String(). The package depends on no kernel: the caller
// passes the function that shows charts while a cell is running.
//
// # From the interpreter
//
// The kernel interprets cells, and its interpreter has no generic functions and
// no iterators. This package needs neither: it has structs with methods, slices and
// plain functions. Functions return errors; Must turns an error into a panic, by
// which a cell fails.
//
// # Interrupting
//
// Jupyter interrupts a cell by sending its kernel SIGINT. Run.Fit and
// Interruptible then end the context of their work, and return the result so far.
// The kernel in notebooks/kernel survives the signal; others may not.
//
// # Out of scope
//
// Package study/figure draws charts with axes. Package study holds the studies.
package notebook

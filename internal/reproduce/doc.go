// Package reproduce runs the tables and figures of Chen, Xu, Hakkani-Tur, Jin,
// Yang & Zhu ("Calibrate and Debias Layer-wise Sampling for Graph Convolutional
// Networks", TMLR 2023) on any data sets, and sets what comes out beside what the
// paper prints.
//
//	data sets × methods × seeds ─▶ cells, one file each ─▶ Report: rows of ours | paper
//	                                  (kept, so that a            │
//	                                   stopped run goes on)       ▼
//	paper.json: the paper's numbers ─────────────────▶ text, Markdown, CSV, JSON, figure
//
// A cell is the smallest thing that takes long: one training run, one method's
// timing. It is stored under a name made of all that it depends on: the options,
// the fingerprint of the data, and for a timing the machine. Running the same
// experiment again, or one that shares cells with it, computes only what is
// missing.
package reproduce

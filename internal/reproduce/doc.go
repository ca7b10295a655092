// Package reproduce makes the tables and figures of Chen, Xu, Hakkani-Tur, Jin,
// Yang & Zhu ("Calibrate and Debias Layer-wise Sampling for Graph Convolutional
// Networks", TMLR 2023) from any data sets, compares the numbers with the paper's, and
// judges the claims of the paper's text about them. It also compares generated twins of
// the paper's data sets with published figures of the originals.
//
//	Experiments ─▶ jobs of each data set ─▶ cells, one line each ─▶ Report: rows of ours | paper
//	(table4, …)    (shared by tables)       (kept, so that a            │
//	                                         stopped run goes on)       ▼
//	paper.json: the paper's numbers ──────────────────▶ text, Markdown, CSV, JSON, figures
//	claims: the paper's text, with predicates on rows ─▶ seen, not seen or not measured
//
// A job is the smallest unit of long work: one training run, or the timing of one
// method. Its result is a cell, a line in the file of its data set. The name of a cell is
// made of everything that it depends on: the options, the fingerprint of the data, and for a
// timing the machine.
// Only missing cells are computed. A report is a pure function of cells.
package reproduce

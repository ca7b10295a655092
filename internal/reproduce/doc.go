// Package reproduce runs the tables and figures of Chen, Xu, Hakkani-Tur, Jin,
// Yang & Zhu ("Calibrate and Debias Layer-wise Sampling for Graph Convolutional
// Networks", TMLR 2023) on any data sets, and compares the results with the
// paper's.
//
//	data sets × methods × seeds ─▶ cells, one file each ─▶ Report: rows of ours | paper
//	                                  (kept, so that a            │
//	                                   stopped run goes on)       ▼
//	paper.json: the paper's numbers ─────────────────▶ text, Markdown, CSV, JSON, figure
//
// A cell is the smallest unit of long work: one training run, or the timing of one
// method. Its file name is made of everything that it depends on: the options, the
// fingerprint of the data, and for a timing the machine. An experiment computes
// only the cells that are missing, also if another experiment shares some.
package reproduce

// Package table reads tables of cells: lines of text, plain, gzipped or zstd, and Parquet.
//
//	file ─▶ gunzip, unzstd ─▶ blocks of whole lines ─▶ Rows of cells, on all cores
//	Parquet ────────────────────────▲
//
// A file is opened once. The first block tells how it is written: the comments at its
// beginning, the separator, the number of cells. Package table decides nothing about what
// the cells mean: see package formats.
package table

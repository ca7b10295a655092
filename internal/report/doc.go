// Package report makes one self-contained HTML page of training runs: for each data
// set the scores of methods, and curves of loss and validation score over batches and
// over seconds; settings and machine.
//
//	run folders (config.json, metrics.jsonl, result.json) ─▶ Load ─▶ Page.Write ─▶ one .html
//	                                                             └▶ WriteEvents ─▶ TensorBoard
//
// The page needs no network and no script. Its charts are those of package
// study/figure, inline.
package report

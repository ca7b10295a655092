// Package report makes one self-contained HTML page of training runs: curves of
// loss and validation score over batches and over seconds, a comparison of
// methods with error bars, settings and machine.
//
//	run folders (config.json, metrics.jsonl, result.json) ─▶ Load ─▶ Page.Write ─▶ one .html
//	                                                             └▶ WriteEvents ─▶ TensorBoard
//
// The page needs no network and no script. Charts are inline SVG; their colours
// follow the reader's light or dark setting and stay apart for colour-blind
// readers.
package report

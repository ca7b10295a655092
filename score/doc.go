// Package score says how good a model's outputs are: the metric of a data set, its estimate
// from a sample of the nodes, tables by class, and the probabilities that Correct & Smooth
// improves.
//
//	logits ─┬───────────────────▶ Of, Sample.Score ─▶ accuracy, micro-F1 or ROC AUC
//	        └─▶ Probabilities ─┬─▶ Assess ──────────▶ rows by class, calibration
//	                           └─▶ CorrectAndSmooth ▶ probabilities
//
// It needs labels and a graph, and no model: the caller computes the outputs.
package score

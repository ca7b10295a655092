// Package bench measures the cost of sampling, of a training step and of full-neighbour
// inference, for "gcn bench" and for the paper's tables of times.
//
//	samplers.Sampler ─▶ Sampling ─▶ ms a mini-batch, entries, allocations
//	train.Program ────▶ Step ─────▶ ms a step, and ms for its dense products alone
//	train.Predict ────▶ Infer ────▶ ms, nodes a second, memory
package bench

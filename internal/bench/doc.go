// Package bench measures what a training step and full-neighbour inference cost.
//
//	train.Program ─▶ Step ──▶ ms a step, beside the same dense products alone
//	train.Predict ─▶ Infer ─▶ ms, nodes a second, memory
//
// It serves "gcn bench train" and "gcn bench infer".
package bench

// Package bench measures the cost of a training step and of full-neighbour inference, for
// "gcn bench train" and "gcn bench infer".
//
//	train.Program ─▶ Step ──▶ ms a step, and ms for its dense products alone
//	train.Predict ─▶ Infer ─▶ ms, nodes a second, memory
package bench

// Package bench measures the cost of a training step, of full-neighbour inference, and of
// sharing both between ranks, for "gcn bench train", "gcn bench infer" and "gcn bench ranks".
//
//	train.Program ─▶ Step ──▶ ms a step, and ms for its dense products alone
//	train.Predict ─▶ Infer ─▶ ms, nodes a second, memory
//	train.Fit ─────▶ Ranks ─▶ constants of a model ─▶ Predict ─▶ speed-up of K ranks
package bench

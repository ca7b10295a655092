// Package bench measures the cost of a training step, of steps on a graph larger than the
// memory, of full-neighbour inference, and of sharing steps and inference between ranks, for
// "gcn bench train", "gcn bench scale", "gcn bench infer" and "gcn bench ranks".
//
//	train.Program ─▶ Step ──▶ ms a step, and ms for its dense products alone
//	train.Program ─▶ Scale ─▶ ms a step, bytes read from the disk, memory
//	train.Predict ─▶ Infer ─▶ ms, nodes a second, memory
//	train.Fit ─────▶ Ranks ─▶ constants of a model ─▶ Predict ─▶ speed-up of K ranks
package bench

// Package ranks is what several processes need to train one model together: sums of
// gradients with equal bits for any number of them, and matrices whose rows they hold
// together.
//
//	gradients of a rank's mini-batches ─▶ Sum ───────▶ the sum of all, in the order of a tree
//	rows that mini-batches read ────────▶ Partition ─▶ features, adjacency ─▶ the other ranks
//	workers that sample ─▶ Rounds ──────────┘
//
// The processes are called ranks. They talk through a Group.
package ranks

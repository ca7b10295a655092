// Package full computes a model's outputs over full neighbourhoods, from the expression graph
// that training uses. The graph is cut at the ops that read a slot: see plan.Cut.
//
//	nodes ──▶ the rows needed at each level ──▶ level 0 ─▶ level 1 ─▶ … ─▶ logits
//	                                              │ chunks of rows that stay in cache,
//	                                              ▼ one run of the level's plan a core
//	                       rows of P over the rows held of the level below
//
// Rows that follow from features alone, those of X and of P·X, are given. A call may want
// values inside the model, such as those that a history keeps. The levels also run on a GPU, and
// ranks share the rows of a level.
//
// A model of plain Gorgonia nodes and of the library's layers needs no code of its own for
// this. Every row is computed once in each level. Batches with all neighbours compute a row
// again in each batch that needs it.
package full

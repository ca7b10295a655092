// Package plan turns part of an expression graph into a plan and runs it on one
// of two back ends.
//
//	Gorgonia's graph        Plan: ops in order,            Backend
//	loss, gradients  ──New──▶ last reader of each ──┬─▶ CPU: the caller's goroutine
//	or logits                value, its memory      └─▶ CUDA: Gorgonia's CUDA backend
//
// A plan is made once, and only here it is decided in which order the ops run,
// after which op a value is dead, which values share memory, and which op may
// overwrite its input. A plan runs over the batch that the slots and targets of
// the model hold at that time, and batches of any size run through it.
//
// An op of this project implements Op: in one place it states its form on the
// CPU, its form on a GPU, and what memory it uses. Other ops, Gorgonia's own or a
// user's, run on the host on either back end, and are trusted with nothing: the
// plan assumes that they keep their inputs.
//
// Kernels are the same two processors for full-neighbour inference, which works
// outside the expression graph.
package plan

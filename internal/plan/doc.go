// Package plan turns part of an expression graph into a plan and runs it on one
// of two backends.
//
//	Gorgonia's graph        Plan: ops in order,            Backend
//	loss, gradients  ──New──▶ last reader of each ──┬─▶ CPU: the caller's goroutine
//	or logits                value, its memory      └─▶ CUDA: Gorgonia's CUDA backend
//
// A plan is made once. It alone decides the order of the ops, the lifetime of
// each value, which values share memory, which ops overwrite an input, and what an op
// keeps for others. A Run owns all that changes while the ops compute. It uses the
// batch that the model's slots and targets hold at that time, or one of its own.
// Batches may differ in size.
//
// An op of this project implements Op: one method computes it, with kernels of the CPU
// and of a GPU, and one describes its memory use. Other ops, Gorgonia's own or a user's, run
// on the host with either backend. The plan assumes that they keep their inputs.
//
// Cut cuts a model at its slots, for full neighbourhoods (package full).
package plan

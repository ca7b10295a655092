// Package samplertest tests samplers: a contract for all of them, and simulation on graphs.
//
//	samplers.Sampler ─▶ Run: blocks, determinism, reuse, errors
//	samplers.Sampler ─▶ Simulate: mean of P̃H against PH, in standard errors
//
// It serves the tests of this module's samplers and of a user's own. The exact moments of the
// factors of a samplers.Weight are study.Enumerate's.
package samplertest

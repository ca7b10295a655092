// Package samplertest tests samplers: a contract for all of them, exact laws of
// draws on tiny populations, and simulation on graphs.
//
//	samplers.Sampler ─▶ Run: blocks, determinism, reuse, errors
//	Draw, Weight     ─▶ Moments: E[β_i], E[β_i β_j] over every outcome
//	samplers.Sampler ─▶ Simulate: mean of P̃H against PH, in standard errors
//
// It serves the tests of this module's samplers and of a user's own.
package samplertest

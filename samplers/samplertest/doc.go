// Package samplertest tests samplers: one contract that all of them pass, exact
// laws of draws on tiny populations, and simulation on graphs.
//
//	samplers.Sampler ─▶ Run: blocks, determinism, reuse, errors
//	Draw, Weight     ─▶ Moments: E[β_i], E[β_i β_j] over every outcome
//	samplers.Sampler ─▶ Simulate: mean of P̃H against PH, in standard errors
//
// It is for the tests of samplers, those of this module and others.
package samplertest

// Package splitmix is the random number generator SplitMix64 (Steele, Lea &
// Flood 2014, "Fast splittable pseudorandom number generators"), addressed by
// position: every number of its sequence costs the same few operations.
//
//	                           ┌─▶ samplers, datasets: seeds of random streams
//	seed, position ─▶ splitmix ┼─▶ ops: seeds of dropout layers
//	                           └─▶ internal/kernel: keys of dropout masks
//
// The numbers are part of the meaning of a seed, and must never change.
package splitmix

// gamma is the odd number nearest to 2⁶⁴ divided by the golden ratio. The state
// grows by gamma from one output to the next.
const gamma = 0x9e3779b97f4a7c15

// Output returns number n, counted from 1, of the sequence that starts at seed.
func Output(seed, n uint64) uint64 {
	x := seed + n*gamma
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// Hash returns Output(x, 1). It is a bijection, and each bit of the result
// depends on all bits of x.
func Hash(x uint64) uint64 { return Output(x, 1) }

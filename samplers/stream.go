package samplers

import "math/rand/v2"

// Seed sets source to the stream of one mini-batch of one epoch, so that a
// batch's draws depend on (seed, epoch, batch) and on nothing else: neither on
// the worker that draws it nor on the batches drawn before.
func Seed(source *rand.PCG, seed, epoch, batch uint64) {
	source.Seed(mix(seed^mix(epoch)), mix(batch+1))
}

// Stream returns a new source set by Seed.
func Stream(seed, epoch, batch uint64) *rand.PCG {
	source := new(rand.PCG)
	Seed(source, seed, epoch, batch)
	return source
}

// mix is the finaliser of SplitMix64 (Steele, Lea & Flood 2014): a bijection
// whose output bits each depend on all input bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

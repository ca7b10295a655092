package samplers

import (
	"math/rand/v2"
	"testing"
)

// TestSmallestKeysOfAll takes all of many keys: there is no bound to guess for one
// key more.
func TestSmallestKeysOfAll(t *testing.T) {
	rng := rand.New(NewSource(1, 0, 0))
	for _, n := range []int{1023, 1024, 5000} {
		keys := make([]float64, n)
		for i := range keys {
			keys[i] = rng.ExpFloat64()
		}
		picked, _ := smallestKeys(keys, n, new(drawScratch))
		if len(picked) != n {
			t.Errorf("%d of %d keys", len(picked), n)
		}
	}
}

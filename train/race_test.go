//go:build race

package train

// underRace is true under the race detector. There sync.Pool drops items at random, so
// allocated bytes are not comparable.
const underRace = true

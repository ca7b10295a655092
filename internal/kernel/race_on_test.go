//go:build race

package kernel

// raceDetector tells that tests run tenfold slower and pools drop at random.
const raceDetector = true

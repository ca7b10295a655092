//go:build race

package datasets

// raceDetector tells that the race detector is on. It needs more address space than the
// tests' limits allow.
const raceDetector = true

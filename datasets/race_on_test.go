//go:build race

package datasets

// raceDetector tells that the race detector is on, whose own memory takes more
// address space than a limit leaves.
const raceDetector = true

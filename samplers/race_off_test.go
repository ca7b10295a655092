//go:build !race

package samplers

// RaceDetector reports whether the tests run under the race detector, which makes
// them ten times slower and lets pools forget.
const RaceDetector = false

//go:build race

package main

// raceDetector reports that the race detector is on. Pools then drop some of
// their objects, so all code allocates.
const raceDetector = true

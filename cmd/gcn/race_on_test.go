//go:build race

package main

// raceDetector tells that the race detector is on, under which pools drop
// what they are given now and then, and so everything allocates.
const raceDetector = true

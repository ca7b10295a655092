//go:build !race

package blas_test

// raceDetector tells that tests run tenfold slower and pools drop at random.
const raceDetector = false

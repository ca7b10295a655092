//go:build !linux

package mpi

// signalActions is only needed on Linux.
type signalActions struct{}

func saveSignals() signalActions { return signalActions{} }

func (signalActions) restore() {}

// Package rundir holds the folder of a training run open and locked, so that two
// processes never write into one, and a run never writes into a folder that took
// the name of its own.
//
//	cmd/gcn, train ─▶ rundir ─▶ atomicfile, filelock
//
// It knows the names of a run's files, and compares the configuration in a folder
// with the one of a run that is to go on there. Package train writes and reads the
// others.
package rundir

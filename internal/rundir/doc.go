// Package rundir holds the folder of a training run open and locked, so that two
// processes never write into one, and a run never writes into a folder that took
// the name of its own.
//
//	cmd/gcn, train ─▶ rundir ─▶ atomicfile, filelock
//
// It also compares the configuration in a folder with the one of a run that is
// to go on there. It knows no other file of a run.
package rundir

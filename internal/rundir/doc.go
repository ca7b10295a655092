// Package rundir keeps the folder of a training run open and locked, so that two
// processes never write to one folder. A run whose folder is moved keeps writing to it,
// and not to a new folder of the same name.
//
//	cmd/gcn, train ─▶ rundir ─▶ atomicfile, filelock
//
// The package has the names of a run's files, and reads and compares configurations.
// Package train writes and reads the other files.
package rundir

// Package rundir holds the folder of a training run open and locked. Two processes
// never write into one folder, and a run never writes into another folder that has
// taken its path.
//
//	cmd/gcn, train ─▶ rundir ─▶ atomicfile, filelock
//
// It knows the names of a run's files. It compares the configuration in a folder
// with the configuration of a run that resumes there. Package train writes and reads
// the other files.
package rundir

// Package mpi connects the processes that an MPI launcher started: mpirun, srun, or
// Kubeflow's MPIJob.
//
//	mpirun -n 4 gcn train …
//	     │ environment            libmpi, opened at run time
//	     ▼                               ▼
//	Launched ──▶ Open ──▶ World ──▶ Exchange, Gather ──▶ the other ranks
//
// It needs neither cgo nor MPI's headers. It loads the MPI library only if the
// environment shows a launcher, so a program that is started alone never loads it. It
// knows the binary interfaces of Open MPI 4 and 5, of MPICH 4 and its relatives, and the
// standard one of MPI 5.
package mpi

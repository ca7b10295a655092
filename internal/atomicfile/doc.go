// Package atomicfile replaces files whole: who reads one, or comes after a crash
// or on a disk that was full, finds the old contents or the new.
//
//	cmd/gcn, study, study/figure, internal/reproduce, internal/report; internal/rundir ◀─ train
//	                        │
//	                   atomicfile ─▶ filelock
//
// Contents are written to a part beside the file, which then takes its name. A
// part is locked while it is written; the next writer of the same file removes
// those that killed processes left. Stores (datasets) have a writer of their own.
package atomicfile

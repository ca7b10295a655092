// Package atomicfile replaces files whole: who reads one, or comes after a crash
// or on a disk that was full, finds the old contents or the new.
//
//	cmd/gcn, study, study/figure, internal/reproduce, internal/report
//	                        │
//	                   atomicfile
//
// Checkpoints (train) and stores (datasets) have writers of their own, which also
// know about locks and about what killed processes leave.
package atomicfile

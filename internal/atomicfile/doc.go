// Package atomicfile replaces files whole. A reader finds the old contents or the
// new, also after a crash, and after a write to a full disk.
//
//	cmd/gcn, study, study/figure, datasets, internal/reproduce, internal/report,
//	internal/weights, internal/rundir
//	                        │
//	                   atomicfile ─▶ filelock
//
// Contents are written to a part beside the file, which then takes its name. A
// part is locked while it is written. The next writer of the same file takes over the
// part that a killed process left.
package atomicfile

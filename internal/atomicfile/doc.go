// Package atomicfile replaces files whole: readers find the old contents or the
// new, also after a crash or on a full disk.
//
//	cmd/gcn, study, study/figure, internal/reproduce, internal/report; internal/rundir ◀─ train
//	                        │
//	                   atomicfile ─▶ filelock
//
// It writes contents to a part, a file beside the target, and then renames the part.
// It locks a part while it writes. The next writer of the same file removes parts
// of killed processes. Stores (package datasets) have a writer of their own.
package atomicfile

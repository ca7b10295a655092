// Runs a kernel: each thread of a block is a fiber, so that barriers and
// shuffles can switch between them.

#pragma once

#include "device.h"
#include "module.h"

struct GcnLaunch {
	const GcnKernel *kernel;
	GcnIndex grid, block;
	void *const *args;
	uint64_t order; // 0: threads and blocks in ascending order, 1: descending, else a seed
};

// gcn_run runs the kernel to its end. It returns 0, or a CUresult with the reason
// in why.
GCN_HIDDEN int gcn_run(const GcnLaunch &launch, char *why, size_t why_size);

// In driver.cc: makes memory that a kernel touches accessible to it; false if it
// is not memory of the device.
GCN_HIDDEN bool gcn_open(void *address);

// Checks each access of a kernel to memory: it must stay within an allocation, and no
// other thread may write there at the same time.

#pragma once

#include <stdint.h>

#include "module.h"

// A thread at some time: `barriers` counts the barriers that its block has passed,
// `syncs` the calls of __syncwarp for the whole warp.
struct GcnWho {
	uint32_t block, thread, barriers, syncs;
};
extern GCN_HIDDEN GcnWho gcn_who;

// The accesses to four bytes: the last writer; the last reader, and the last other
// reader in its block; a reader in an earlier block. They are of one launch, or for
// shared memory of one block, which the stamp names. A cell with another stamp is void.
struct GcnCell {
	uint64_t stamp;
	GcnWho wrote, read, other;
	uint32_t far_block, far_thread;
};

// An allocation: bytes at start, in the mapping [low, high).
struct GcnRegion {
	uint64_t start, bytes, low, high;
	GcnCell *cells;
};

// In driver.cc: finds the allocation whose mapping holds the address; false if none.
GCN_HIDDEN bool gcn_region(uint64_t address, GcnRegion *region);

// Whether accesses are checked, which takes seventeen times the memory touched.
extern GCN_HIDDEN bool gcn_checking;

GCN_HIDDEN GcnCell *gcn_new_cells(uint64_t bytes);
GCN_HIDDEN void gcn_free_cells(GcnCell *cells, uint64_t bytes);

// A launch starts with the first, given where shared memory lies; each block of it
// with the second.
GCN_HIDDEN void gcn_check_launch(char *shared, uint64_t bytes);
GCN_HIDDEN void gcn_check_block();

// In fiber.cc: ends the kernel with this CUresult, because of an access of the
// running thread.
[[noreturn]] GCN_HIDDEN void gcn_stop(int result, const char *why);

// The compiler calls __tsan_read4 and so on before each access of a kernel (that
// is all that -fsanitize=thread does here: its library is not linked).

#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

bool gcn_checking;
GcnWho gcn_who;

namespace {

const uint32_t nobody = ~0u;
const uint32_t relaxed = 1u << 31; // in thread: the access is volatile, and may meet other volatile ones

uint64_t stamp; // the last one given out

// Memory, and the stamp that its cells have in the launch or block that runs.
struct Checked {
	GcnRegion region;
	uint64_t stamp;
	bool shared;
};
Checked shared;
Checked recent[4]; // allocations, most recent first

bool within(uint64_t address, const GcnRegion &r) { return address - r.low < r.high - r.low; }

// Whether the access before is ordered before the access now.
bool ordered(const GcnWho &before, const GcnWho &now) {
	if (before.block != now.block) return false;
	uint32_t a = before.thread & ~relaxed, b = now.thread & ~relaxed;
	return a == b || before.barriers < now.barriers || (a / 32 == b / 32 && before.syncs < now.syncs);
}

void meet(const GcnWho &before, bool wrote, const GcnWho &now, bool writes, const Checked &memory, uint64_t offset) {
	if (before.thread == nobody || (before.thread & now.thread & relaxed) || ordered(before, now)) return;
	char where[80], why[256];
	snprintf(where, sizeof where, memory.shared ? "shared memory" : "an allocation of %llu bytes", (unsigned long long)memory.region.bytes);
	snprintf(why, sizeof why, "a race: byte %llu of %s was %s in block %u by thread %u, and with no barrier since is %s", (unsigned long long)offset,
		where, wrote ? "written" : "read", before.block, before.thread & ~relaxed, writes ? "written" : "read");
	gcn_stop(719, why); // CUDA_ERROR_LAUNCH_FAILED
}

void touch(const Checked &memory, uint64_t offset, const GcnWho &now, bool writes) {
	GcnCell &c = memory.region.cells[offset / 4];
	if (c.stamp != memory.stamp) {
		memset(&c, 0xff, sizeof c); // no thread
		c.stamp = memory.stamp;
	}
	meet(c.wrote, true, now, writes, memory, offset);
	if (writes) {
		meet(c.read, false, now, true, memory, offset);
		meet(c.other, false, now, true, memory, offset);
		meet({c.far_block, c.far_thread, 0, 0}, false, now, true, memory, offset);
		c.wrote = now;
		return;
	}
	if (c.read.thread != nobody && c.read.block != now.block) {
		c.far_block = c.read.block, c.far_thread = c.read.thread;
		c.read.thread = c.other.thread = nobody;
	}
	if (c.read.thread != now.thread) c.other = c.read;
	c.read = now;
}

const Checked *find(uint64_t address) {
	if (within(address, shared.region)) return &shared;
	for (Checked &r : recent) {
		if (!within(address, r.region)) continue;
		std::rotate(recent, &r, &r + 1);
		return recent;
	}
	GcnRegion found;
	if (!gcn_region(address, &found)) return nullptr;
	std::copy_backward(recent, recent + 3, recent + 4);
	recent[0].region = found;
	return recent;
}

void check(uint64_t address, uint64_t size, bool writes, bool is_volatile) {
	const Checked *memory = find(address);
	if (!memory) return; // a variable of the thread's own, or nothing, which will fault
	uint64_t offset = address - memory->region.start;
	if (offset > memory->region.bytes || size > memory->region.bytes - offset) {
		char why[200];
		snprintf(why, sizeof why, "byte %lld of an allocation of %llu bytes is %s", (long long)offset,
			(unsigned long long)memory->region.bytes, writes ? "written" : "read");
		gcn_stop(700, why); // CUDA_ERROR_ILLEGAL_ADDRESS
	}
	GcnWho now = gcn_who;
	if (is_volatile) now.thread |= relaxed;
	for (uint64_t o = offset & ~3ull; o < offset + size; o += 4) touch(*memory, o, now, writes);
}

} // namespace

GcnCell *gcn_new_cells(uint64_t bytes) {
	void *cells = mmap(nullptr, (bytes + 3) / 4 * sizeof(GcnCell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return cells == MAP_FAILED ? nullptr : (GcnCell *)cells;
}

void gcn_free_cells(GcnCell *cells, uint64_t bytes) {
	if (cells) munmap(cells, (bytes + 3) / 4 * sizeof(GcnCell));
}

void gcn_check_launch(char *memory, uint64_t bytes) {
	if (!gcn_checking) return;
	stamp++;
	for (Checked &r : recent) r = {{}, stamp, false}; // the memory may have been freed
	if (!shared.region.cells && bytes) {
		uint64_t at = (uint64_t)memory;
		shared = {{at, bytes, at, at + bytes, gcn_new_cells(bytes)}, 0, true};
	}
}

void gcn_check_block() { shared.stamp = ++stamp; }

#define CALLED extern "C" GCN_HIDDEN __attribute__((used))
#define ACCESS(name, size, writes, is_volatile) \
	CALLED void __tsan_##name(void *p) { \
		if (gcn_checking) check((uint64_t)p, size, writes, is_volatile); \
	}
#define ACCESSES(n) \
	ACCESS(read##n, n, false, false) \
	ACCESS(write##n, n, true, false) \
	ACCESS(unaligned_read##n, n, false, false) \
	ACCESS(unaligned_write##n, n, true, false) \
	ACCESS(volatile_read##n, n, false, true) \
	ACCESS(volatile_write##n, n, true, true)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
CALLED void __tsan_read_range(void *p, uint64_t n) {
	if (gcn_checking && n) check((uint64_t)p, n, false, false);
}
CALLED void __tsan_write_range(void *p, uint64_t n) {
	if (gcn_checking && n) check((uint64_t)p, n, true, false);
}
CALLED void __tsan_init() {}

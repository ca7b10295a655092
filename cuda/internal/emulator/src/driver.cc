// An emulated CUDA driver: libcuda.so.1 as far as package cu calls it.
//
// Queued work is done only when something waits for it, and then only the work that
// it depends on. So a missing event, a buffer that is written too early, and a result
// that is read too soon show every time.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "fiber.h"

const GcnModule *gcn_modules;

#define API extern "C" __attribute__((visibility("default")))

typedef int CUresult;
typedef uint64_t CUdeviceptr;

enum : CUresult {
	success = 0,
	invalid_value = 1,
	out_of_memory = 2,
	not_initialized = 3,
	no_device = 100,
	invalid_device = 101,
	invalid_context = 201,
	invalid_ptx = 218,
	invalid_handle = 400,
	not_found = 500,
	not_ready = 600,
	illegal_address = 700,
	launch_failed = 719,
	not_supported = 801,
};

namespace {

const std::map<CUresult, std::pair<const char *, const char *>> names = {
	{success, {"CUDA_SUCCESS", "no error"}},
	{invalid_value, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
	{out_of_memory, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
	{not_initialized, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
	{no_device, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
	{invalid_device, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
	{invalid_context, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
	{invalid_ptx, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
	{invalid_handle, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
	{not_found, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
	{not_ready, {"CUDA_ERROR_NOT_READY", "device not ready"}},
	{illegal_address, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
	{716, {"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"}},
	{launch_failed, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
	{not_supported, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}},
};

typedef std::function<CUresult()> Task;

struct Stream;

// A point in a stream: after its first `seq` tasks.
struct Mark {
	std::shared_ptr<Stream> stream;
	uint64_t seq = 0;
};

struct Entry {
	Task work; // empty for a wait
	Mark wait;
};

struct Stream {
	bool first = false; // of the process
	uint64_t done = 0, queued = 0;
	std::deque<Entry> tasks;
};

struct Event {
	Mark mark;
	bool recorded = false;
};

struct Module {
	const GcnModule *code;
	std::string ptx;
};

struct Memory {
	size_t bytes;        // asked for
	char *base;          // of the mapping
	size_t mapped;
	bool open;
	GcnCell *cells = nullptr; // made when first needed
};

const size_t page = 4096;
const char poison = (char)0xff; // NaN, or -1

struct Options {
	uint64_t order = 0;
	bool eager = false, early = false, pageable = false, ptx = false;
	int devices = 1;
	size_t memory = (size_t)16 << 30;
};

Options read_options() {
	Options o;
	const char *text = getenv("GCN_EMULATOR");
	std::string all = text ? text : "";
	for (size_t at = 0; at < all.size();) {
		size_t end = all.find(',', at);
		if (end == std::string::npos) end = all.size();
		std::string word = all.substr(at, end - at);
		at = end + 1;
		size_t eq = word.find('=');
		std::string key = word.substr(0, eq), value = eq == std::string::npos ? "" : word.substr(eq + 1);
		if (key == "order") o.order = strtoull(value.c_str(), nullptr, 10);
		else if (key == "eager") o.eager = true;
		else if (key == "early") o.early = true;
		else if (key == "pageable") o.pageable = true;
		else if (key == "ptx") o.ptx = true;
		else if (key == "check") gcn_checking = true;
		else if (key == "devices") o.devices = atoi(value.c_str());
		else if (key == "memory") o.memory = strtoull(value.c_str(), nullptr, 10);
		else fprintf(stderr, "emulated CUDA: GCN_EMULATOR: what is %s?\n", word.c_str());
	}
	return o;
}

// Everything of the driver, behind one lock.
struct Driver {
	std::mutex lock;
	Options options = read_options();
	bool initialized = false;
	CUresult sticky = success; // an error of the device stays
	std::map<CUdeviceptr, Memory> memory;
	std::map<uintptr_t, size_t> pinned;
	size_t used = 0;
	std::map<uintptr_t, std::shared_ptr<Stream>> streams;
	std::map<uintptr_t, std::shared_ptr<Event>> events;
	std::map<uintptr_t, std::shared_ptr<Module>> modules;
	uintptr_t last = 0x1000;
	size_t waiting = 0; // tasks queued
	uint64_t launches = 0;
	int open = 0;                    // how many Opened there are
	std::vector<CUdeviceptr> opened; // memory to close after them
};

Driver &driver = *new Driver; // never destroyed: threads may outlive main

thread_local uintptr_t current; // context
const uintptr_t the_context = 0xc0de;

typedef std::lock_guard<std::mutex> Guard;

uintptr_t name_one() { return driver.last += 0x10; }

template <typename T> std::shared_ptr<T> find(const std::map<uintptr_t, std::shared_ptr<T>> &in, uintptr_t h) {
	auto it = in.find(h);
	return it == in.end() ? nullptr : it->second;
}

CUresult enter() {
	if (!driver.initialized) return not_initialized;
	if (current != the_context) return invalid_context;
	return driver.sticky;
}

#define ENTER \
	Guard guard(driver.lock); \
	if (CUresult r = enter()) return r

// Outside of kernels and copies, memory of the device is closed: a host that
// reads or writes it faults. Memory that a kernel or copy accesses is opened for it,
// and closed when the host goes on.
struct Opened {
	Opened() { driver.open++; }
	~Opened() {
		if (--driver.open > 0) return;
		for (CUdeviceptr p : driver.opened) {
			auto it = driver.memory.find(p);
			if (it != driver.memory.end()) protect(it->second, false);
		}
		driver.opened.clear();
	}
	static void protect(Memory &m, bool open) {
		mprotect(m.base + page, m.mapped - 2 * page, open ? PROT_READ | PROT_WRITE : PROT_NONE);
		m.open = open;
	}
};

// The allocation that holds [p, p+n), or none.
Memory *holds(CUdeviceptr p, size_t n, CUdeviceptr *start = nullptr) {
	auto it = driver.memory.upper_bound(p);
	if (it == driver.memory.begin()) return nullptr;
	--it;
	size_t offset = p - it->first;
	if (offset > it->second.bytes || n > it->second.bytes - offset) return nullptr;
	if (start) *start = it->first;
	return &it->second;
}

// Opens the allocation at p to the device; false if there is none, or if it was
// open already.
bool open_at(CUdeviceptr p) {
	CUdeviceptr start;
	Memory *m = holds(p, 0, &start);
	if (!m || m->open) return false;
	Opened::protect(*m, true);
	driver.opened.push_back(start);
	return true;
}

CUresult fault(CUresult r, const char *text) {
	if (!driver.sticky) {
		fprintf(stderr, "emulated CUDA: %s\n", text);
		driver.sticky = r;
	}
	return r;
}

// Does the work that the stream queued before seq, and all work that it waits for.
CUresult reach(const std::shared_ptr<Stream> &s, uint64_t seq) {
	while (s->done < seq && !driver.sticky) {
		Entry e = std::move(s->tasks.front());
		s->tasks.pop_front();
		driver.waiting--;
		if (e.wait.stream) reach(e.wait.stream, e.wait.seq);
		if (e.work && !driver.sticky) {
			if (CUresult r = e.work()) driver.sticky = r;
		}
		s->done++;
	}
	return driver.sticky;
}

CUresult reach_all() {
	Opened opened;
	for (auto &[h, s] : driver.streams) reach(s, s->queued);
	return driver.sticky;
}

CUresult enqueue(const std::shared_ptr<Stream> &s, Task work, Mark wait = {}) {
	s->tasks.push_back({std::move(work), std::move(wait)});
	s->queued++;
	// So much can hardly be meant to wait; a real queue would be full as well.
	if (++driver.waiting > 20000 || driver.options.eager || (driver.options.early && !s->first)) {
		Opened opened;
		return reach(s, s->queued);
	}
	return success;
}

#define STREAM(s, h) \
	auto s = find(driver.streams, h); \
	if (!s) return no_such_stream(h)

CUresult no_such_stream(uintptr_t h) {
	if (h == 0) fprintf(stderr, "emulated CUDA: the legacy stream is not emulated\n");
	return invalid_handle;
}

bool is_pinned(const void *p, size_t n) {
	auto it = driver.pinned.upper_bound((uintptr_t)p);
	if (it == driver.pinned.begin()) return false;
	--it;
	size_t offset = (uintptr_t)p - it->first;
	return offset <= it->second && n <= it->second - offset;
}

// Memory ends at the end of its mapping, rounded up to a multiple of 256, so that an
// access beyond that faults. The bytes up to there are checked when it is freed.
size_t padded(size_t bytes) { return (bytes + 255) / 256 * 256; }

CUresult allocate(CUdeviceptr *p, size_t bytes) {
	if (bytes == 0) return invalid_value;
	if (bytes > driver.options.memory - driver.used) return out_of_memory;
	size_t mapped = (padded(bytes) + page - 1) / page * page + 2 * page;
	char *base = (char *)mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) return out_of_memory;
	mprotect(base + page, mapped - 2 * page, PROT_READ | PROT_WRITE);
	memset(base + page, poison, mapped - 2 * page);
	char *at = base + mapped - page - padded(bytes);
	mprotect(base + page, mapped - 2 * page, PROT_NONE);
	*p = (CUdeviceptr)at;
	driver.memory[*p] = Memory{bytes, base, mapped, false};
	driver.used += bytes;
	return success;
}

// The lines of a PTX text that name its sources and hold the hash of the text.
std::string sources(const std::string &ptx) {
	std::string lines;
	for (size_t at = 0; at < ptx.size();) {
		size_t end = ptx.find('\n', at);
		if (end == std::string::npos) break;
		if (ptx.compare(at, 2, "//") != 0) break;
		if (ptx.compare(at, 10, "// source ") == 0 || ptx.compare(at, 8, "// text ") == 0) lines += ptx.substr(at, end + 1 - at);
		at = end + 1;
	}
	return lines;
}

} // namespace

bool gcn_open(void *address) { return open_at((CUdeviceptr)address); }

bool gcn_region(uint64_t address, GcnRegion *region) {
	// An allocation lies at the end of its mapping, so its start may be above the address.
	auto it = driver.memory.upper_bound(address);
	for (int k = 0; k < 2; k++) {
		if (it != driver.memory.end()) {
			Memory &m = it->second;
			uint64_t low = (uint64_t)m.base;
			if (address - low < m.mapped) {
				if (!m.cells) m.cells = gcn_new_cells(m.bytes);
				if (!m.cells) {
					fprintf(stderr, "emulated CUDA: no memory to check %zu bytes with\n", m.bytes);
					abort();
				}
				*region = {it->first, m.bytes, low, low + m.mapped, m.cells};
				return true;
			}
		}
		if (it == driver.memory.begin()) break;
		--it;
	}
	return false;
}

API CUresult cuInit(unsigned flags) {
	Guard guard(driver.lock);
	if (flags) return invalid_value;
	if (driver.options.devices == 0) return no_device;
	driver.initialized = true;
	return success;
}

API CUresult cuDriverGetVersion(int *v) {
	*v = 12000;
	return success;
}

API CUresult cuGetErrorName(CUresult r, const char **s) {
	auto it = names.find(r);
	*s = it == names.end() ? nullptr : it->second.first;
	return it == names.end() ? invalid_value : success;
}

API CUresult cuGetErrorString(CUresult r, const char **s) {
	auto it = names.find(r);
	*s = it == names.end() ? nullptr : it->second.second;
	return it == names.end() ? invalid_value : success;
}

API CUresult cuDeviceGetCount(int *n) {
	if (!driver.initialized) return not_initialized;
	*n = driver.options.devices;
	return success;
}

API CUresult cuDeviceGet(int *d, int ordinal) {
	if (!driver.initialized) return not_initialized;
	if (ordinal < 0 || ordinal >= driver.options.devices) return invalid_device;
	*d = ordinal;
	return success;
}

API CUresult cuDeviceGetName(char *name, int size, int) {
	snprintf(name, size, "Emulated CUDA device");
	return success;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, int) {
	*bytes = driver.options.memory;
	return success;
}

API CUresult cuDeviceGetAttribute(int *v, int attribute, int device) {
	static const std::map<int, int> values = {
		{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {10, 32},
		{16, 4}, {38, 1 << 20}, {75, 8}, {76, 0}, {83, 1}, {89, 1}, {97, 49152}};
	if (device < 0 || device >= driver.options.devices) return invalid_device;
	if (attribute == 88) {
		*v = driver.options.pageable;
		return success;
	}
	auto it = values.find(attribute);
	if (it == values.end()) return invalid_value;
	*v = it->second;
	return success;
}

API CUresult cuDevicePrimaryCtxRetain(uintptr_t *context, int device) {
	if (!driver.initialized) return not_initialized;
	if (device < 0 || device >= driver.options.devices) return invalid_device;
	*context = the_context;
	return success;
}

API CUresult cuCtxSetCurrent(uintptr_t context) {
	if (!driver.initialized) return not_initialized;
	if (context && context != the_context) return invalid_context;
	current = context;
	return success;
}

API CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
	ENTER;
	*total = driver.options.memory;
	*free = driver.options.memory - driver.used;
	return success;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes) {
	ENTER;
	return allocate(p, bytes);
}

API CUresult cuMemFree_v2(CUdeviceptr p) {
	ENTER;
	auto it = driver.memory.find(p);
	if (it == driver.memory.end()) return invalid_value;
	CUresult r = reach_all();
	{
		Opened opened;
		open_at(p);
		const char *at = (const char *)p;
		for (size_t k = it->second.bytes; k < padded(it->second.bytes); k++) {
			if (at[k] == poison) continue;
			char text[200];
			snprintf(text, sizeof text, "%zu bytes of memory at %#llx were written past their end, at byte %zu", it->second.bytes, (unsigned long long)p, k);
			r = fault(illegal_address, text);
			break;
		}
	}
	munmap(it->second.base, it->second.mapped);
	gcn_free_cells(it->second.cells, it->second.bytes);
	driver.used -= it->second.bytes;
	driver.memory.erase(it);
	return r;
}

API CUresult cuMemHostAlloc(void **p, size_t bytes, unsigned) {
	ENTER;
	if (bytes == 0) return invalid_value;
	if (posix_memalign(p, page, bytes)) return out_of_memory;
	memset(*p, poison, bytes);
	driver.pinned[(uintptr_t)*p] = bytes;
	return success;
}

API CUresult cuMemFreeHost(void *p) {
	ENTER;
	auto it = driver.pinned.find((uintptr_t)p);
	if (it == driver.pinned.end()) return invalid_value;
	CUresult r = reach_all();
	driver.pinned.erase(it);
	free(p);
	return r;
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, uintptr_t stream) {
	ENTER;
	STREAM(s, stream);
	if (n && !holds(dst, n)) return invalid_value;
	if (is_pinned(src, n) || driver.options.pageable) {
		return enqueue(s, [=] {
			open_at(dst);
			memcpy((void *)dst, src, n);
			return success;
		});
	}
	// Other memory is read at once.
	auto staged = std::make_shared<std::vector<char>>((const char *)src, (const char *)src + n);
	return enqueue(s, [=] {
		open_at(dst);
		memcpy((void *)dst, staged->data(), n);
		return success;
	});
}

API CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, uintptr_t stream) {
	ENTER;
	STREAM(s, stream);
	if (n && !holds(src, n)) return invalid_value;
	bool pinned = is_pinned(dst, n);
	CUresult r = enqueue(s, [=] {
		open_at(src);
		memcpy(dst, (const void *)src, n);
		return success;
	});
	if (r || pinned) return r;
	Opened opened;
	return reach(s, s->queued); // other memory is written before the call returns
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, uintptr_t stream) {
	ENTER;
	STREAM(s, stream);
	if (n && (!holds(dst, n) || !holds(src, n))) return invalid_value;
	return enqueue(s, [=] {
		open_at(dst), open_at(src);
		memmove((void *)dst, (const void *)src, n);
		return success;
	});
}

API CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n, uintptr_t stream) {
	ENTER;
	STREAM(s, stream);
	if (n && !holds(dst, n)) return invalid_value;
	return enqueue(s, [=] {
		open_at(dst);
		memset((void *)dst, v, n);
		return success;
	});
}

API CUresult cuModuleLoadDataEx(uintptr_t *module, const void *image, unsigned n, int *options, void **values) {
	ENTER;
	char *log = nullptr;
	size_t log_size = 0;
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == 5) log = (char *)values[i];
		if (options[i] == 6) log_size = (size_t)values[i];
	}
	std::string ptx = (const char *)image, lines = sources(ptx), reason;
	if (lines.empty()) {
		reason = "the emulated device knows kernels by the lines \"// source …\" above their PTX, and there are none";
	} else {
		for (const GcnModule *m = gcn_modules; m; m = m->next) {
			if (m->translated != driver.options.ptx || lines != m->sources) continue;
			*module = name_one();
			driver.modules[*module] = std::make_shared<Module>(Module{m, ptx});
			return success;
		}
		reason = "the emulated device was not built of what this PTX was compiled from:\n" + lines;
	}
	if (log && log_size) snprintf(log, log_size, "%s", reason.c_str());
	return invalid_ptx;
}

API CUresult cuModuleUnload(uintptr_t module) {
	ENTER;
	return driver.modules.erase(module) ? success : invalid_handle;
}

API CUresult cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name) {
	ENTER;
	auto m = find(driver.modules, module);
	if (!m) return invalid_handle;
	if (m->ptx.find(std::string(".entry ") + name + "(") == std::string::npos) return not_found;
	for (size_t i = 0; i < m->code->count; i++) {
		if (strcmp(m->code->kernels[i].name, name)) continue;
		*function = (uintptr_t)&m->code->kernels[i];
		return success;
	}
	return not_found;
}

API CUresult cuLaunchKernel(uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, uintptr_t stream, void **args, void **extra) {
	ENTER;
	STREAM(s, stream);
	auto kernel = (const GcnKernel *)function;
	uint64_t threads = (uint64_t)bx * by * bz;
	if (!kernel || !gx || !gy || !gz || !threads || threads > 1024 || bx > 1024 || by > 1024 || bz > 64 || gx > 2147483647u || gy > 65535 || gz > 65535 || extra)
		return invalid_value;
	if (shared) {
		fprintf(stderr, "emulated CUDA: %s: dynamic shared memory is not emulated\n", kernel->name);
		return not_supported;
	}
	std::vector<std::vector<char>> values(kernel->count);
	for (size_t i = 0; i < kernel->count; i++) values[i].assign((char *)args[i], (char *)args[i] + kernel->sizes[i]);
	return enqueue(s, [=, values = std::move(values)]() mutable -> CUresult {
		std::vector<void *> pointers;
		for (auto &v : values) pointers.push_back(v.data());
		uint64_t order = driver.options.order;
		if (order > 1) order += 2 + driver.launches;
		driver.launches++;
		char why[400];
		for (auto &v : values)
			if (v.size() == sizeof(CUdeviceptr)) open_at(*(CUdeviceptr *)v.data()); // an address, most likely
		CUresult r = gcn_run({kernel, {gx, gy, gz}, {bx, by, bz}, pointers.data(), order}, why, sizeof why);
		return r ? fault(r, why) : success;
	});
}

API CUresult cuStreamCreate(uintptr_t *stream, unsigned flags) {
	ENTER;
	if (flags > 1) return invalid_value;
	*stream = name_one();
	auto s = std::make_shared<Stream>();
	s->first = driver.streams.empty();
	driver.streams[*stream] = s;
	return success;
}

API CUresult cuStreamDestroy_v2(uintptr_t stream) {
	ENTER;
	STREAM(s, stream);
	Opened opened;
	CUresult r = reach(s, s->queued);
	driver.streams.erase(stream);
	return r;
}

API CUresult cuStreamSynchronize(uintptr_t stream) {
	ENTER;
	STREAM(s, stream);
	Opened opened;
	return reach(s, s->queued);
}

// Whether the work up to the mark is done. If not, it does one piece of it, so that a
// host that keeps asking comes to an end.
static CUresult ask(const Mark &m) {
	if (m.stream->done >= m.seq) return success;
	Opened opened;
	if (CUresult r = reach(m.stream, m.stream->done + 1)) return r;
	return not_ready;
}

API CUresult cuStreamWaitEvent(uintptr_t stream, uintptr_t event, unsigned) {
	ENTER;
	STREAM(s, stream);
	auto e = find(driver.events, event);
	if (!e) return invalid_handle;
	if (!e->recorded) return success;
	return enqueue(s, nullptr, e->mark);
}

API CUresult cuEventCreate(uintptr_t *event, unsigned flags) {
	ENTER;
	*event = name_one();
	driver.events[*event] = std::make_shared<Event>();
	return success;
}

API CUresult cuEventDestroy_v2(uintptr_t event) {
	ENTER;
	return driver.events.erase(event) ? success : invalid_handle;
}

API CUresult cuEventRecord(uintptr_t event, uintptr_t stream) {
	ENTER;
	STREAM(s, stream);
	auto e = find(driver.events, event);
	if (!e) return invalid_handle;
	e->recorded = true;
	CUresult r = enqueue(s, [] { return success; });
	e->mark = {s, s->queued};
	return r;
}

API CUresult cuEventQuery(uintptr_t event) {
	ENTER;
	auto e = find(driver.events, event);
	if (!e) return invalid_handle;
	if (!e->recorded) return success;
	return ask(e->mark);
}

API CUresult cuEventSynchronize(uintptr_t event) {
	ENTER;
	auto e = find(driver.events, event);
	if (!e) return invalid_handle;
	if (!e->recorded) return success;
	Opened opened;
	return reach(e->mark.stream, e->mark.seq);
}

// For the emulated cuBLAS: queues fn(arg) on a stream, after a check that each of
// n ranges (address, bytes) is memory of the device; arg is copied.
API CUresult gcn_emulator_enqueue(uintptr_t stream, void (*fn)(const void *), const void *arg, size_t size, const uint64_t (*ranges)[2], int n) {
	ENTER;
	STREAM(s, stream);
	for (int i = 0; i < n; i++) {
		if (ranges[i][1] && !holds(ranges[i][0], ranges[i][1])) {
			fprintf(stderr, "emulated CUDA: cuBLAS was given %llu bytes at %#llx, which is not memory of the device\n",
				(unsigned long long)ranges[i][1], (unsigned long long)ranges[i][0]);
			return invalid_value;
		}
	}
	auto copy = std::make_shared<std::vector<char>>((const char *)arg, (const char *)arg + size);
	std::vector<CUdeviceptr> touched;
	for (int i = 0; i < n; i++) touched.push_back(ranges[i][0]);
	return enqueue(s, [=] {
		for (CUdeviceptr p : touched) open_at(p);
		fn(copy->data());
		return success;
	});
}

API uintptr_t gcn_emulator_context() { return current; }

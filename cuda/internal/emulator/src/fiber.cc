#include "fiber.h"

#include "check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

GcnIndex gcn_thread, gcn_block, gcn_block_size, gcn_grid_size;

// The section that holds all __shared__ variables; empty if there are none.
extern "C" {
extern char __start_gcn_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_gcn_shared[] __attribute__((weak, visibility("hidden")));
}

namespace {

// gcn_switch saves the registers that a call keeps, stores the stack pointer in
// *save and goes on where `to` was saved.
extern "C" void gcn_switch(void **save, void *to);

#if defined(__x86_64__)
asm(R"(
.text
.hidden gcn_switch
.globl gcn_switch
.type gcn_switch, @function
gcn_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
.size gcn_switch, .-gcn_switch
)");
// Fills a new stack, from its top down: an empty word for alignment, the address of
// start, six registers.
void *prepare(char *top, void (*start)()) {
	void **sp = (void **)top;
	*--sp = nullptr;
	*--sp = (void *)start;
	for (int i = 0; i < 6; i++) *--sp = nullptr;
	return sp;
}
#elif defined(__aarch64__)
asm(R"(
.text
.hidden gcn_switch
.globl gcn_switch
.type gcn_switch, %function
gcn_switch:
	sub sp, sp, #160
	stp x19, x20, [sp, #0]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x9, sp
	str x9, [x0]
	mov sp, x1
	ldp x19, x20, [sp, #0]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #160
	ret
.size gcn_switch, .-gcn_switch
)");
void *prepare(char *top, void (*start)()) {
	char *sp = top - 160;
	memset(sp, 0, 160);
	*(void **)(sp + 88) = (void *)start;
	return sp;
}
#else
#error "the emulated device needs x86-64 or AArch64"
#endif

const size_t stack_size = 64 << 10;
const unsigned warp_size = 32;

enum State : unsigned char { fresh, ready, at_barrier, at_exchange, ended };

struct Thread {
	State state;
	GcnExchange how;
	unsigned mask;
	unsigned by, c;
	uint64_t value;
	void *sp;
	char *stack;
	GcnIndex index;
	GcnWho who;
};

// One kernel runs at a time: this is its state.
struct {
	const GcnLaunch *launch;
	Thread *current;
	void *scheduler;
	sigjmp_buf fault;
	pthread_t runner;
	volatile sig_atomic_t running;
	int signal; // that stopped it, or 0: then stopped is why
	void *address;
	int stopped;
	char *why;
	size_t why_size;
} now;

std::vector<char *> spare; // stacks

char *take_stack() {
	if (!spare.empty()) {
		char *s = spare.back();
		spare.pop_back();
		return s;
	}
	size_t page = sysconf(_SC_PAGESIZE);
	char *s = (char *)mmap(nullptr, stack_size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s == MAP_FAILED) return nullptr;
	mprotect(s, page, PROT_NONE); // a stack that overflows stops here
	return s + page;
}

void resume(Thread *t) {
	now.current = t;
	gcn_thread = t->index;
	gcn_who = t->who;
	gcn_switch(&now.scheduler, t->sp);
}

void leave(Thread *t) { gcn_switch(&t->sp, now.scheduler); }

void start() {
	Thread *t = now.current;
	now.launch->kernel->call(now.launch->args);
	t->state = ended;
	leave(t);
	__builtin_unreachable();
}

int fail(const char *format, const char *what, const Thread *t) {
	char where[512];
	snprintf(where, sizeof where, format, what);
	snprintf(now.why, now.why_size, "%s, in kernel %s, block (%u, %u, %u), thread (%u, %u, %u)", where,
		now.launch->kernel->name, gcn_block.x, gcn_block.y, gcn_block.z, t->index.x, t->index.y, t->index.z);
	return 719; // CUDA_ERROR_LAUNCH_FAILED
}

// The lane that lane reads, or lane itself where the rules give its own value: as
// the PTX manual has it for shfl.sync.
unsigned source(const Thread *t, unsigned lane) {
	unsigned by = t->by & 31, segment = t->c >> 8 & 31;
	unsigned first = lane & segment, last = first | (t->c & 31 & ~segment);
	int from = (int)lane;
	switch (t->how) {
	case gcn_idx: from = (int)(first | (by & ~segment)); break;
	case gcn_up: from = (int)(lane - by); break;
	case gcn_down: from = (int)(lane + by); break;
	case gcn_xor: from = (int)(lane ^ by); break;
	default: break;
	}
	bool within = t->how == gcn_up ? from >= (int)last : from <= (int)last;
	return within ? (unsigned)from : lane;
}

// Lets the lanes of a warp go on that have all come to the same exchange. Returns
// 1 if any did, 0 if none can, and below 0 after an error.
int exchange(Thread *warp, unsigned lanes) {
	int moved = 0;
	for (unsigned lane = 0; lane < lanes; lane++) {
		Thread *t = &warp[lane];
		if (t->state != at_exchange) continue;
		if (!(t->mask >> lane & 1)) return -fail("%s", "a shuffle whose mask leaves out the thread itself", t);
		unsigned there = 0;
		for (unsigned l = 0; l < warp_size; l++) {
			if (!(t->mask >> l & 1)) continue;
			if (l >= lanes || warp[l].state == ended)
				return -fail("%s", "a shuffle whose mask names a thread that has ended or never was", t);
			Thread *u = &warp[l];
			if (u->state != at_exchange) continue;
			if (u->how != t->how || u->mask != t->mask || u->c != t->c)
				return -fail("%s", "threads of one mask at different shuffles", u);
			there |= 1u << l;
		}
		if (there != t->mask) continue;
		uint64_t values[warp_size] = {}, ballot = 0;
		for (unsigned l = 0; l < lanes; l++) {
			values[l] = warp[l].value;
			if (there >> l & 1 && warp[l].value) ballot |= 1u << l;
		}
		for (unsigned l = 0; l < lanes; l++) {
			if (!(there >> l & 1)) continue;
			Thread *u = &warp[l];
			u->state = ready;
			if (u->how == gcn_sync && there == 0xffffffffu) u->who.syncs++;
			if (u->how == gcn_ballot) {
				u->value = ballot;
			} else if (u->how != gcn_sync) {
				unsigned from = source(u, l);
				if (!(u->mask >> from & 1)) return -fail("%s", "a shuffle that reads a thread not named in its mask", u);
				u->value = values[from];
			}
		}
		moved = 1;
	}
	return moved;
}

uint64_t mix(uint64_t x) {
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

// Some order of n things: see GcnLaunch.order.
void arrange(std::vector<unsigned> &order, size_t n, uint64_t seed) {
	order.resize(n);
	for (size_t i = 0; i < n; i++) order[i] = seed == 1 ? n - 1 - i : i;
	if (seed < 2) return;
	for (size_t i = n; i > 1; i--) std::swap(order[i - 1], order[(seed = mix(seed)) % i]);
}

size_t shared_bytes() { return __start_gcn_shared ? __stop_gcn_shared - __start_gcn_shared : 0; }

int run_block(std::vector<Thread> &threads, const std::vector<unsigned> &order) {
	size_t shared = shared_bytes();
	if (shared) memset(__start_gcn_shared, 0xff, shared);
	gcn_check_block();
	GcnIndex at = {0, 0, 0};
	uint32_t block = (gcn_block.z * gcn_grid_size.y + gcn_block.y) * gcn_grid_size.x + gcn_block.x, number = 0;
	for (Thread &t : threads) {
		t.state = fresh;
		t.index = at;
		t.who = {block, number++, 0, 0};
		if (++at.x == gcn_block_size.x) {
			at.x = 0;
			if (++at.y == gcn_block_size.y) at.y = 0, at.z++;
		}
	}
	size_t live = threads.size();
	while (live > 0) {
		bool ran = false;
		size_t waiting = 0;
		for (unsigned i : order) {
			Thread &t = threads[i];
			if (t.state == fresh) {
				if (!(t.stack = take_stack())) return fail("%s", "no memory for a stack", &t);
				t.sp = prepare(t.stack + stack_size, start);
				t.state = ready;
			}
			if (t.state != ready) {
				waiting += t.state == at_barrier;
				continue;
			}
			resume(&t);
			ran = true;
			if (t.state == ended) {
				spare.push_back(t.stack);
				t.stack = nullptr;
				live--;
			} else {
				waiting += t.state == at_barrier;
			}
		}
		for (size_t w = 0; w < threads.size(); w += warp_size) {
			int r = exchange(&threads[w], std::min<size_t>(warp_size, threads.size() - w));
			if (r < 0) return -r;
			ran |= r > 0;
		}
		if (live > 0 && waiting == threads.size()) {
			for (Thread &t : threads) t.state = ready, t.who.barriers++;
			continue;
		}
		if (live > 0 && !ran) {
			for (Thread &t : threads) {
				if (t.state == at_barrier) return fail("%s", "a barrier that some threads of the block never come to", &t);
				if (t.state == at_exchange) return fail("%s", "a shuffle that some threads of its mask never come to", &t);
			}
		}
	}
	return 0;
}

// Kernels are compiled to stop by SIGILL or SIGTRAP at an address that is not a
// multiple of the size of the access.
const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP};
const int signal_count = sizeof signals / sizeof *signals;
struct sigaction before[signal_count];

void on_fault(int signal, siginfo_t *info, void *context) {
	if (now.running && pthread_equal(pthread_self(), now.runner)) {
		bool memory = signal == SIGSEGV || signal == SIGBUS;
		if (memory && gcn_open(info->si_addr)) return; // and try again
		now.signal = signal;
		now.address = info->si_addr;
		siglongjmp(now.fault, 1);
	}
	// Another thread of the program: the handler that was installed before ours answers.
	const struct sigaction &old = before[std::find(signals, signals + signal_count, signal) - signals];
	if (old.sa_flags & SA_SIGINFO)
		old.sa_sigaction(signal, info, context);
	else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
		old.sa_handler(signal);
	else
		_exit(139);
}

} // namespace

void gcn_barrier() {
	Thread *t = now.current;
	t->state = at_barrier;
	leave(t);
}

uint64_t gcn_exchange(GcnExchange how, unsigned mask, uint64_t v, unsigned by, unsigned c) {
	Thread *t = now.current;
	t->how = how, t->mask = mask, t->value = v, t->by = by, t->c = c;
	t->state = at_exchange;
	leave(t);
	return t->value;
}

void gcn_stop(int result, const char *why) {
	fail("%s", why, now.current);
	now.signal = 0;
	now.stopped = result;
	siglongjmp(now.fault, 1);
}

int gcn_run(const GcnLaunch &launch, char *why, size_t why_size) {
	static std::vector<Thread> threads;
	static std::vector<unsigned> thread_order, block_order;
	now.launch = &launch;
	now.why = why, now.why_size = why_size;
	now.runner = pthread_self();
	gcn_grid_size = launch.grid, gcn_block_size = launch.block;
	threads.assign((size_t)launch.block.x * launch.block.y * launch.block.z, Thread{});
	size_t blocks = (size_t)launch.grid.x * launch.grid.y * launch.grid.z;
	arrange(thread_order, threads.size(), launch.order);
	gcn_check_launch(__start_gcn_shared, shared_bytes());
	bool listed = launch.order >= 2 && blocks < (1u << 20); // more are too many to list
	if (listed) arrange(block_order, blocks, mix(launch.order));

	struct sigaction ours = {};
	ours.sa_sigaction = on_fault;
	ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	sigemptyset(&ours.sa_mask);
	for (int i = 0; i < signal_count; i++) sigaction(signals[i], &ours, &before[i]);
	volatile int result = 0;
	if (sigsetjmp(now.fault, 1) == 0) {
		now.running = 1;
		for (size_t k = 0; k < blocks && !result; k++) {
			size_t b = listed ? block_order[k] : launch.order == 1 ? blocks - 1 - k : k;
			gcn_block = {(unsigned)(b % launch.grid.x), (unsigned)(b / launch.grid.x % launch.grid.y),
				(unsigned)(b / launch.grid.x / launch.grid.y)};
			result = run_block(threads, thread_order);
		}
	} else if (now.signal == 0) {
		result = now.stopped;
	} else if (now.signal == SIGILL || now.signal == SIGTRAP) {
		fail("%s", "an address that is not a multiple of the size of what lies there", now.current);
		result = 716; // CUDA_ERROR_MISALIGNED_ADDRESS
	} else {
		char what[64];
		snprintf(what, sizeof what, "%p", now.address);
		fail("access to %s, which is not memory of the device", what, now.current);
		result = 700; // CUDA_ERROR_ILLEGAL_ADDRESS
	}
	now.running = 0;
	for (int i = 0; i < signal_count; i++) sigaction(signals[i], &before[i], nullptr);
	for (Thread &t : threads)
		if (t.stack) spare.push_back(t.stack);
	return result;
}

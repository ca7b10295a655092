// CUDA C for g++: included before a kernel when it is compiled for the emulated
// device. A block's threads are fibers of one thread, and blocks run one after
// another, so the number of a thread or block is a plain variable.

#pragma once

#include <stddef.h>
#include <stdint.h>

#define __host__
#define __device__
#define __global__
#define __constant__ static const
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
// All shared variables lie in one section, which is spoiled before each block.
// Only in functions that are no templates: g++ would want them elsewhere.
#define __shared__ static __attribute__((section("gcn_shared")))

struct GcnIndex {
	unsigned x, y, z;
};

#define GCN_HIDDEN __attribute__((visibility("hidden")))
extern GCN_HIDDEN GcnIndex gcn_thread, gcn_block, gcn_block_size, gcn_grid_size;
#define threadIdx gcn_thread
#define blockIdx gcn_block
#define blockDim gcn_block_size
#define gridDim gcn_grid_size
#define warpSize 32

// In fiber.cc: they switch to the block's other threads.
GCN_HIDDEN void gcn_barrier();
enum GcnExchange { gcn_idx, gcn_up, gcn_down, gcn_xor, gcn_ballot, gcn_sync };
// by and c are operands b and c of PTX's shfl.sync: c holds the last lane of a
// segment and, from bit 8 on, which bits of a lane's number name its segment.
GCN_HIDDEN uint64_t gcn_exchange(GcnExchange how, unsigned mask, uint64_t v, unsigned by, unsigned c);
static inline unsigned gcn_segments(int width, unsigned last) { return (unsigned)(32 - width) << 8 | last; }

static inline void __syncthreads() { gcn_barrier(); }
static inline void __syncwarp(unsigned mask = 0xffffffffu) { gcn_exchange(gcn_sync, mask, 0, 0, 0); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

template <typename T> static inline uint64_t gcn_bits(T v) {
	static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
	uint64_t b = 0;
	__builtin_memcpy(&b, &v, sizeof v);
	return b;
}
template <typename T> static inline T gcn_value(uint64_t b) {
	T v;
	__builtin_memcpy(&v, &b, sizeof v);
	return v;
}
template <typename T> static inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32) {
	return gcn_value<T>(gcn_exchange(gcn_idx, mask, gcn_bits(v), (unsigned)lane, gcn_segments(width, 31)));
}
template <typename T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
	return gcn_value<T>(gcn_exchange(gcn_up, mask, gcn_bits(v), by, gcn_segments(width, 0)));
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
	return gcn_value<T>(gcn_exchange(gcn_down, mask, gcn_bits(v), by, gcn_segments(width, 31)));
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T v, int by, int width = 32) {
	return gcn_value<T>(gcn_exchange(gcn_xor, mask, gcn_bits(v), (unsigned)by, gcn_segments(width, 31)));
}
static inline unsigned __ballot_sync(unsigned mask, int p) { return (unsigned)gcn_exchange(gcn_ballot, mask, p != 0, 0, 0); }
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, p) == mask; }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __float_as_int(float x) { return gcn_value<int>(gcn_bits(x)); }
static inline unsigned __float_as_uint(float x) { return gcn_value<unsigned>(gcn_bits(x)); }
static inline float __int_as_float(int x) { return gcn_value<float>(gcn_bits(x)); }
static inline float __uint_as_float(unsigned x) { return gcn_value<float>(gcn_bits(x)); }
// As <math.h> declares them; a kernel need not include it.
extern "C" {
float sqrtf(float) noexcept;
double sqrt(double) noexcept;
float fabsf(float) noexcept;
double fabs(double) noexcept;
float fmaxf(float, float) noexcept;
float fminf(float, float) noexcept;
}

template <typename T> static inline T __ldg(const T *p) { return *p; }

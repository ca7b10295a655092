// CUDA C's additions to C++, as far as the kernels use them. Clang includes this file
// before each kernel, in place of the headers of an installed CUDA.

#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

typedef __SIZE_TYPE__ size_t;

// threadIdx.x and so on: each component reads a special register.
#define GCN_REGISTER(type, a) \
	struct type { \
		struct X { __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##a##_x(); } }; \
		struct Y { __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##a##_y(); } }; \
		struct Z { __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##a##_z(); } }; \
		[[no_unique_address]] X x; \
		[[no_unique_address]] Y y; \
		[[no_unique_address]] Z z; \
	}
GCN_REGISTER(GcnThread, tid);
GCN_REGISTER(GcnBlock, ctaid);
GCN_REGISTER(GcnBlockSize, ntid);
GCN_REGISTER(GcnGridSize, nctaid);
#undef GCN_REGISTER
#define threadIdx (GcnThread())
#define blockIdx (GcnBlock())
#define blockDim (GcnBlockSize())
#define gridDim (GcnGridSize())
#define warpSize 32

// __syncthreads is a builtin of clang.
__device__ __forceinline__ void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
__device__ __forceinline__ void __threadfence() { __nvvm_membar_gl(); }
__device__ __forceinline__ void __threadfence_block() { __nvvm_membar_cta(); }

// Shuffles. The last argument of the instruction holds the last lane of the
// segment and, above it, which bits of the lane's number name the segment.
#define GCN_SHUFFLE(name, how, last, Arg) \
	__device__ __forceinline__ int name(unsigned mask, int v, Arg by, int width = 32) { \
		return __nvvm_shfl_sync_##how##_i32(mask, v, by, (32 - width) << 8 | last); \
	} \
	__device__ __forceinline__ unsigned name(unsigned mask, unsigned v, Arg by, int width = 32) { \
		return (unsigned)name(mask, (int)v, by, width); \
	} \
	__device__ __forceinline__ float name(unsigned mask, float v, Arg by, int width = 32) { \
		return __nvvm_shfl_sync_##how##_f32(mask, v, by, (32 - width) << 8 | last); \
	} \
	__device__ __forceinline__ long long name(unsigned mask, long long v, Arg by, int width = 32) { \
		unsigned lo = name(mask, (unsigned)v, by, width), hi = name(mask, (unsigned)(v >> 32), by, width); \
		return (long long)((unsigned long long)hi << 32 | lo); \
	} \
	__device__ __forceinline__ unsigned long long name(unsigned mask, unsigned long long v, Arg by, int width = 32) { \
		return (unsigned long long)name(mask, (long long)v, by, width); \
	} \
	__device__ __forceinline__ double name(unsigned mask, double v, Arg by, int width = 32) { \
		return __builtin_bit_cast(double, name(mask, __builtin_bit_cast(long long, v), by, width)); \
	}
GCN_SHUFFLE(__shfl_sync, idx, 31, int)
GCN_SHUFFLE(__shfl_down_sync, down, 31, unsigned)
GCN_SHUFFLE(__shfl_xor_sync, bfly, 31, int)
GCN_SHUFFLE(__shfl_up_sync, up, 0, unsigned)
#undef GCN_SHUFFLE

__device__ __forceinline__ unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
__device__ __forceinline__ int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
__device__ __forceinline__ int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
__device__ __forceinline__ unsigned __activemask() {
	unsigned mask;
	asm volatile("activemask.b32 %0;" : "=r"(mask));
	return mask;
}

__device__ __forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
__device__ __forceinline__ int __ffs(int x) { return __builtin_ffs(x); }
__device__ __forceinline__ int __clz(int x) { return x ? __builtin_clz(x) : 32; }
__device__ __forceinline__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__device__ __forceinline__ unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__device__ __forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__device__ __forceinline__ float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
template <typename T> __device__ __forceinline__ T __ldg(const T *p) { return *p; }

// Square roots are the only mathematical functions: the others are in a library of
// NVIDIA's.
__device__ __forceinline__ float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
__device__ __forceinline__ double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
__device__ __forceinline__ int max(int x, int y) { return x > y ? x : y; }
__device__ __forceinline__ int min(int x, int y) { return x < y ? x : y; }

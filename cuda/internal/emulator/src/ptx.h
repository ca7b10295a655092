// The instructions of PTX, for the C++ that translate.go makes of it: a
// function is named after its instruction, dots replaced, and takes and returns
// registers, which hold bits: bool for a predicate, else an unsigned integer of
// the register's width. An instruction that is not here does not compile.

#pragma once

#include <fenv.h>
#include <math.h>

#define FN static inline __attribute__((always_inline))

typedef uint16_t b16;
typedef uint32_t b32;
typedef uint64_t b64;

// The types of PTX in C++.
typedef uint8_t t_u8;
typedef int8_t t_s8;
typedef uint16_t t_u16, t_b16;
typedef int16_t t_s16;
typedef uint32_t t_u32, t_b32;
typedef int32_t t_s32;
typedef uint64_t t_u64, t_b64;
typedef int64_t t_s64;
typedef float t_f32;
typedef double t_f64;

// A value as a register holds it, and back.
FN b64 in(int8_t v) { return (b64)(int64_t)v; }
FN b64 in(int16_t v) { return (b64)(int64_t)v; }
FN b64 in(int32_t v) { return (b64)(int64_t)v; }
FN b64 in(int64_t v) { return (b64)v; }
FN b64 in(uint8_t v) { return v; }
FN b64 in(uint16_t v) { return v; }
FN b64 in(uint32_t v) { return v; }
FN b64 in(uint64_t v) { return v; }
FN b32 in(float v) { return (b32)gcn_bits(v); }
FN b64 in(double v) { return gcn_bits(v); }
template <typename T> FN T out(b64 v) {
	T x;
	__builtin_memcpy(&x, &v, sizeof x); // the low bytes
	return x;
}

// Memory. Parameters of a kernel or function are variables.
#define LOAD(space, t) \
	FN b64 ld##space##t(b64 p) { return in(*(const t_##t *)p); }
#define STORE(space, t) \
	FN void st##space##t(b64 p, b64 v) { *(t_##t *)p = out<t_##t>(v); }
#define MEMORY(space) \
	LOAD(space, u8) LOAD(space, s8) LOAD(space, u16) LOAD(space, s16) LOAD(space, u32) LOAD(space, s32) LOAD(space, b32) \
	LOAD(space, u64) LOAD(space, s64) LOAD(space, b64) LOAD(space, f32) LOAD(space, f64) \
	STORE(space, u8) STORE(space, u16) STORE(space, u32) STORE(space, b32) STORE(space, u64) STORE(space, b64) STORE(space, f32) STORE(space, f64)
MEMORY(_)
MEMORY(_global_)
MEMORY(_shared_)
MEMORY(_local_)
LOAD(_global_nc_, u32)
LOAD(_global_nc_, f32)
LOAD(_global_nc_, u64)
LOAD(_global_nc_, f64)
#define VOLATILE(t) \
	FN b64 ld_volatile_global_##t(b64 p) { return in((t_##t) * (const volatile t_##t *)p); } \
	FN void st_volatile_global_##t(b64 p, b64 v) { *(volatile t_##t *)p = out<t_##t>(v); }
VOLATILE(u32)
VOLATILE(u64)
template <typename T, typename P> FN b64 ld_param(const P &p, size_t offset) {
	T v;
	__builtin_memcpy(&v, (const char *)&p + offset, sizeof v);
	return in(v);
}
template <typename T, typename P> FN void st_param(P &p, size_t offset, b64 v) { __builtin_memcpy((char *)&p + offset, &v, sizeof(T)); }
FN b64 cvta_to_global_u64(b64 p) { return p; } // all spaces are parts of one
FN b64 cvta_local_u64(b64 p) { return p; }

// Integers.
#define ARITHMETIC(n) \
	FN b##n add_s##n(b##n a, b##n b) { return a + b; } \
	FN b##n add_u##n(b##n a, b##n b) { return a + b; } \
	FN b##n sub_s##n(b##n a, b##n b) { return a - b; } \
	FN b##n mul_lo_s##n(b##n a, b##n b) { return (b##n)((b64)a * b); } \
	FN b##n mul_lo_u##n(b##n a, b##n b) { return (b##n)((b64)a * b); } \
	FN b##n mad_lo_s##n(b##n a, b##n b, b##n c) { return (b##n)((b64)a * b + c); } \
	FN b##n neg_s##n(b##n a) { return -a; } \
	FN b##n and_b##n(b##n a, b##n b) { return a & b; } \
	FN b##n or_b##n(b##n a, b##n b) { return a | b; } \
	FN b##n xor_b##n(b##n a, b##n b) { return a ^ b; } \
	FN b##n not_b##n(b##n a) { return ~a; } \
	FN b##n shl_b##n(b##n a, b32 by) { return by >= n ? 0 : a << by; } \
	FN b##n shr_u##n(b##n a, b32 by) { return by >= n ? 0 : a >> by; } \
	FN b##n shr_s##n(b##n a, b32 by) { return (t_s##n)a >> (by >= n ? n - 1 : by); }
ARITHMETIC(16)
ARITHMETIC(32)
ARITHMETIC(64)
FN b64 mul_wide_u32(b32 a, b32 b) { return (b64)a * b; }
FN b64 mul_wide_s32(b32 a, b32 b) { return (b64)((int64_t)(int32_t)a * (int32_t)b); }
FN b32 mul_hi_u32(b32 a, b32 b) { return (b32)((b64)a * b >> 32); }
FN b32 div_u32(b32 a, b32 b) { return b ? a / b : ~0u; }
FN b32 rem_u32(b32 a, b32 b) { return b ? a % b : a; }
FN b64 div_s64(b64 a, b64 b) { return b ? (b64)((int64_t)a / (int64_t)b) : ~0ull; }
FN b64 rem_s64(b64 a, b64 b) { return b ? (b64)((int64_t)a % (int64_t)b) : a; }
FN b32 clz_b64(b64 a) { return a ? __builtin_clzll(a) : 64; }
// length bits from position on; signed, the last of them fills the rest.
FN b64 field(b64 a, b32 position, b32 length, bool is_signed, int width) {
	b64 v = 0;
	int top = (int)position + (int)length - 1;
	bool sign = is_signed && length && a >> (top < width ? top : width - 1) & 1;
	for (int i = 0; i < width; i++) v |= (b64)(i < (int)length && (int)position + i < width ? a >> (position + i) & 1 : sign) << i;
	return v;
}
FN b32 bfe_u32(b32 a, b32 position, b32 length) { return (b32)field(a, position & 255, length & 255, false, 32); }
FN b32 bfe_s32(b32 a, b32 position, b32 length) { return (b32)field(a, position & 255, length & 255, true, 32); }
FN b64 bfe_u64(b64 a, b32 position, b32 length) { return field(a, position & 255, length & 255, false, 64); }
FN b64 bfe_s64(b64 a, b32 position, b32 length) { return field(a, position & 255, length & 255, true, 64); }

// With the carry, which those named cc set and those named c take.
FN b32 low(b64 v, b32 &cc) { return cc = v >> 32 & 1, (b32)v; }
FN b32 add_cc_u32(b32 a, b32 b, b32 &cc) { return low((b64)a + b, cc); }
FN b32 addc_cc_u32(b32 a, b32 b, b32 &cc) { return low((b64)a + b + cc, cc); }
FN b32 addc_u32(b32 a, b32 b, b32 &cc) { return a + b + cc; }
FN b32 sub_cc_u32(b32 a, b32 b, b32 &cc) { return low((b64)a - b, cc); }
FN b32 subc_cc_u32(b32 a, b32 b, b32 &cc) { return low((b64)a - b - cc, cc); }
FN b32 subc_u32(b32 a, b32 b, b32 &cc) { return a - b - cc; }
FN b32 mad_lo_cc_u32(b32 a, b32 b, b32 c, b32 &cc) { return low((b64)(b32)(a * b) + c, cc); }
FN b32 madc_lo_cc_u32(b32 a, b32 b, b32 c, b32 &cc) { return low((b64)(b32)(a * b) + c + cc, cc); }
FN b32 madc_hi_cc_u32(b32 a, b32 b, b32 c, b32 &cc) { return low(((b64)a * b >> 32) + c + cc, cc); }
FN b32 madc_hi_u32(b32 a, b32 b, b32 c, b32 &cc) { return mul_hi_u32(a, b) + c + cc; }

// Numbers with a fraction. Nothing is fused but fma: see build.go.
FN float f(b32 v) { return out<float>(v); }
FN double d(b64 v) { return out<double>(v); }
#define FRACTIONS(n, b, f, fma1, sqrt1) \
	FN b add_f##n(b x, b y) { return in(f(x) + f(y)); } \
	FN b sub_f##n(b x, b y) { return in(f(x) - f(y)); } \
	FN b mul_f##n(b x, b y) { return in(f(x) * f(y)); } \
	FN b add_rn_f##n(b x, b y) { return in(f(x) + f(y)); } \
	FN b sub_rn_f##n(b x, b y) { return in(f(x) - f(y)); } \
	FN b mul_rn_f##n(b x, b y) { return in(f(x) * f(y)); } \
	FN b div_rn_f##n(b x, b y) { return in(f(x) / f(y)); } \
	FN b rcp_rn_f##n(b x) { return in(1 / f(x)); } \
	FN b fma_rn_f##n(b x, b y, b z) { return in(fma1(f(x), f(y), f(z))); } \
	FN b sqrt_rn_f##n(b x) { return in(sqrt1(f(x))); } \
	FN b neg_f##n(b x) { return x ^ (b)1 << (n - 1); } \
	FN b abs_f##n(b x) { return x & ~((b)1 << (n - 1)); } \
	FN b max_f##n(b x, b y) { return f(x) != f(x) || f(y) > f(x) ? y : x; } \
	FN b max_NaN_f##n(b x, b y) { return f(x) != f(x) ? x : f(y) != f(y) || f(y) > f(x) ? y : x; }
FRACTIONS(32, b32, f, fmaf, sqrtf)
FRACTIONS(64, b64, d, fma, sqrt)
// Those that round otherwise.
template <typename F> static __attribute__((noinline)) auto rounding(int mode, F compute) {
	int before = fegetround();
	fesetround(mode);
	auto v = compute();
	fesetround(before);
	return v;
}
static inline b32 add_rz_f32(b32 x, b32 y) {
	volatile float a = f(x), b = f(y);
	return rounding(FE_TOWARDZERO, [&] { return in(a + b); });
}
static inline b32 fma_rm_f32(b32 x, b32 y, b32 z) {
	volatile float a = f(x), b = f(y), c = f(z);
	return rounding(FE_DOWNWARD, [&] { return in(fmaf(a, b, c)); });
}
// Approximations err as far as the manual lets them: by this part of the value,
// to either side. Powers of two come out as they are, on which libdevice relies.
FN float err(float x, float part) { return x * (1 + ((b32)gcn_bits(x) * 0x9e3779b9u >> 31 ? part : -part)); }
FN float flush(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0, x) : x; }
FN float ex2(float x) { return x == truncf(x) ? exp2f(x) : err(exp2f(x), 0x1p-22f); }
FN b32 ex2_approx_f32(b32 x) { return in(ex2(f(x))); }
FN b32 ex2_approx_ftz_f32(b32 x) { return in(flush(ex2(flush(f(x))))); }
FN b32 rcp_approx_ftz_f32(b32 x) { return in(flush(err(1 / flush(f(x)), 0x1p-23f))); }
FN b64 rcp_approx_ftz_f64(b64 x) { return in(1 / d(x)) & 0xffffffff00000000ull; }

// Conversions. A fraction beyond the range of an integer type becomes its nearest
// bound, and NaN becomes 0.
FN b64 cvt_u64_u32(b64 x) { return (b32)x; }
FN b32 cvt_u32_u64(b64 x) { return (b32)x; }
FN b64 cvt_s64_s32(b64 x) { return (b64)(int64_t)(int32_t)x; }
FN b16 cvt_u16_u32(b32 x) { return (b16)x; }
FN b32 cvt_rn_f32_s32(b32 x) { return in((float)(int32_t)x); }
FN b32 cvt_rn_f32_u32(b32 x) { return in((float)x); }
FN b32 cvt_rn_f32_f64(b64 x) { return in((float)d(x)); }
FN b64 cvt_f64_f32(b32 x) { return in((double)f(x)); }
FN b64 cvt_rn_f64_s16(b16 x) { return in((double)(int16_t)x); }
FN b64 cvt_rn_f64_s32(b32 x) { return in((double)(int32_t)x); }
FN b64 cvt_rn_f64_s64(b64 x) { return in((double)(int64_t)x); }
FN b32 to_s32(double x) { return x != x ? 0 : (b32)(x >= 2147483647 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : (int32_t)x); }
FN b64 to_s64(double x) { return x != x ? 0 : (b64)(x >= 9223372036854775808.0 ? INT64_MAX : x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x); }
FN b32 cvt_rzi_s32_f32(b32 x) { return to_s32(f(x)); }
FN b64 cvt_rzi_s64_f32(b32 x) { return to_s64(f(x)); }
FN b64 cvt_rzi_s64_f64(b64 x) { return to_s64(d(x)); }
FN b32 cvt_rni_s32_f32(b32 x) { return to_s32(rint(f(x))); }
FN b32 cvt_rni_s32_f64(b64 x) { return to_s32(rint(d(x))); }
FN b32 cvt_rzi_f32_f32(b32 x) { return in(truncf(f(x))); }
FN b64 cvt_rzi_f64_f64(b64 x) { return in(trunc(d(x))); }
FN b32 cvt_rmi_f32_f32(b32 x) { return in(floorf(f(x))); }
FN b64 cvt_rmi_f64_f64(b64 x) { return in(floor(d(x))); }
FN b32 cvt_rpi_f32_f32(b32 x) { return in(ceilf(f(x))); }
FN b64 cvt_rpi_f64_f64(b64 x) { return in(ceil(d(x))); }
FN b32 cvt_sat_f32_f32(b32 x) { return in(f(x) > 0 ? f(x) < 1 ? f(x) : 1.0f : 0.0f); }

// Comparisons. For fractions, a comparison that ends in u is true for NaN too.
#define COMPARE(b, t) \
	FN bool setp_eq_##t(b x, b y) { return out<t_##t>(x) == out<t_##t>(y); } \
	FN bool setp_ne_##t(b x, b y) { return out<t_##t>(x) != out<t_##t>(y); } \
	FN bool setp_lt_##t(b x, b y) { return out<t_##t>(x) < out<t_##t>(y); } \
	FN bool setp_le_##t(b x, b y) { return out<t_##t>(x) <= out<t_##t>(y); } \
	FN bool setp_gt_##t(b x, b y) { return out<t_##t>(x) > out<t_##t>(y); } \
	FN bool setp_ge_##t(b x, b y) { return out<t_##t>(x) >= out<t_##t>(y); }
#define COMPARE_FRACTION(b, t) \
	FN bool setp_eq_##t(b x, b y) { return out<t_##t>(x) == out<t_##t>(y); } \
	FN bool setp_lt_##t(b x, b y) { return out<t_##t>(x) < out<t_##t>(y); } \
	FN bool setp_le_##t(b x, b y) { return out<t_##t>(x) <= out<t_##t>(y); } \
	FN bool setp_gt_##t(b x, b y) { return out<t_##t>(x) > out<t_##t>(y); } \
	FN bool setp_ge_##t(b x, b y) { return out<t_##t>(x) >= out<t_##t>(y); } \
	FN bool setp_nan_##t(b x, b y) { return out<t_##t>(x) != out<t_##t>(x) || out<t_##t>(y) != out<t_##t>(y); } \
	FN bool setp_num_##t(b x, b y) { return !setp_nan_##t(x, y); } \
	FN bool setp_ne_##t(b x, b y) { return setp_lt_##t(x, y) || setp_gt_##t(x, y); } \
	FN bool setp_equ_##t(b x, b y) { return !setp_ne_##t(x, y); } \
	FN bool setp_neu_##t(b x, b y) { return !setp_eq_##t(x, y); } \
	FN bool setp_ltu_##t(b x, b y) { return !setp_ge_##t(x, y); } \
	FN bool setp_leu_##t(b x, b y) { return !setp_gt_##t(x, y); } \
	FN bool setp_gtu_##t(b x, b y) { return !setp_le_##t(x, y); } \
	FN bool setp_geu_##t(b x, b y) { return !setp_lt_##t(x, y); }
COMPARE(b16, u16)
COMPARE(b16, s16)
COMPARE(b32, u32)
COMPARE(b32, s32)
COMPARE(b32, b32)
COMPARE(b64, u64)
COMPARE(b64, s64)
COMPARE(b64, b64)
COMPARE_FRACTION(b32, f32)
COMPARE_FRACTION(b64, f64)
FN bool and_pred(bool x, bool y) { return x & y; }
FN bool or_pred(bool x, bool y) { return x | y; }
FN bool xor_pred(bool x, bool y) { return x ^ y; }
FN bool not_pred(bool x) { return !x; }

// Barriers, shuffles and votes. The lanes and segment of a shuffle are encoded as in
// the instruction.
FN void bar_sync(b32) { gcn_barrier(); }
FN void bar_warp_sync(b32 mask) { gcn_exchange(gcn_sync, mask, 0, 0, 0); }
FN b32 shfl_sync_idx_b32(b32 v, b32 lane, b32 c, b32 mask) { return (b32)gcn_exchange(gcn_idx, mask, v, lane, c); }
FN b32 shfl_sync_up_b32(b32 v, b32 by, b32 c, b32 mask) { return (b32)gcn_exchange(gcn_up, mask, v, by, c); }
FN b32 shfl_sync_down_b32(b32 v, b32 by, b32 c, b32 mask) { return (b32)gcn_exchange(gcn_down, mask, v, by, c); }
FN b32 shfl_sync_bfly_b32(b32 v, b32 by, b32 c, b32 mask) { return (b32)gcn_exchange(gcn_xor, mask, v, by, c); }
FN b32 vote_sync_ballot_b32(bool p, b32 mask) { return (b32)gcn_exchange(gcn_ballot, mask, p, 0, 0); }
FN bool vote_sync_any_pred(bool p, b32 mask) { return vote_sync_ballot_b32(p, mask) != 0; }
FN bool vote_sync_all_pred(bool p, b32 mask) { return vote_sync_ballot_b32(p, mask) == mask; }

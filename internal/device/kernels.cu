// Kernels of the ops on an NVIDIA device.
//
// Every parameter has 8 bytes: a pointer, a long long, or a long long with the bits
// of a float or a double. Matrices are row-major float32. No kernel uses atomics, and
// the order of every sum depends on the sizes alone, so equal inputs give equal bits.
// Nothing here needs libdevice: the exponential is computed as in package kernel, the
// logarithm is below.
//
// A "row kernel" gives a warp to each tile of TILE columns of a row.

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#define WARP 32
#define TILE 128
#define FULL 0xffffffffu

__device__ static inline float floatOf(i64 bits) {
	union { u32 u; float f; } v;
	v.u = (u32)bits;
	return v.f;
}

__device__ static inline double doubleOf(i64 bits) {
	union { i64 i; double d; } v;
	v.i = bits;
	return v.d;
}

// False for NaN and infinities.
__device__ static inline bool isFinite(double x) { return x - x == 0; }

__device__ static inline i64 globalWarp() { return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / WARP; }
__device__ static inline i64 globalThread() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ static inline int laneOf() { return threadIdx.x & (WARP - 1); }
__device__ static inline i64 tilesOf(i64 width) { return (width + TILE - 1) / TILE; }

__device__ static inline float warpSum(float x) {
	for (int offset = WARP / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(FULL, x, offset);
	return x;
}

__device__ static inline double warpSum(double x) {
	for (int offset = WARP / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(FULL, x, offset);
	return x;
}

__device__ static inline float warpMax(float x) {
	for (int offset = WARP / 2; offset > 0; offset /= 2) {
		float other = __shfl_xor_sync(FULL, x, offset);
		x = other > x ? other : x;
	}
	return x;
}

// The sum of x over a block of 1024 threads or fewer; valid in thread 0.
__device__ static inline double blockSum(double x) {
	__shared__ double sums[WARP];
	x = warpSum(x);
	if (laneOf() == 0) sums[threadIdx.x / WARP] = x;
	__syncthreads();
	double total = 0;
	if (threadIdx.x == 0)
		for (int w = 0; w < (int)(blockDim.x + WARP - 1) / WARP; w++) total += sums[w];
	return total;
}

// e^z and e^z - 1 for z <= 0, as package kernel computes them: Cody & Waite
// reduction, polynomial of Moshier's Cephes expf, 2e-7 relative error.
__device__ static inline float expNeg(float z, float *minusOne) {
	if (z < -87.0f) z = -87.0f;
	int n = z == z ? (int)(z * 1.44269504088896341f - 0.5f) : 0;
	float f = (float)n;
	float r = z - f * 0.693359375f - f * -2.12194440e-4f;
	float p = 1.9875691500e-4f;
	p = p * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * (r * r) + r;
	union { u32 u; float f; } two;
	two.u = (u32)((n + 127) << 23);
	*minusOne = two.f * p + (two.f - 1);
	return two.f * p + two.f;
}

// The slope of y = z*Phi(z), with y, as package kernel computes them: erf by the formula
// 7.1.26 of Abramowitz & Stegun.
__device__ static inline float gelu(float z, float *y) {
	if (z > 13 || z < -13) {
		*y = z > 0 ? z : 0;
		return z > 0 ? 1 : 0;
	}
	float unused, e = expNeg(-0.5f * z * z, &unused), a = z < 0 ? -z : z;
	float t = 1 / (1 + 0.23164189f * a);
	float p = 1.061405429f;
	p = p * t + -1.453152027f;
	p = p * t + 1.421413741f;
	p = p * t + -0.284496736f;
	p = p * t + 0.254829592f;
	float tail = 0.5f * p * t * e, phi = z > 0 ? 1 - tail : tail;
	*y = z * phi;
	return phi + z * 0.39894228f * e;
}

// The natural logarithm of a positive normal x: x = m*2^e with m within
// sqrt(2) of 1, log m = 2*atanh(s), s = (m-1)/(m+1), |s| < 0.172, whose series
// is cut after s^23 (relative error below 1e-16).
__device__ static inline double logOf(double x) {
	union { i64 i; double d; } v;
	v.d = x;
	if (!(x > 0) || x - x != 0) return x - x; // only after an overflow: NaN
	int e = (int)((v.i >> 52) & 0x7ff) - 1023;
	v.i = (v.i & 0xfffffffffffffLL) | 0x3ff0000000000000LL;
	if (v.d > 1.4142135623730951) {
		v.d *= 0.5;
		e++;
	}
	double s = (v.d - 1) / (v.d + 1), q = s * s, sum = 0;
	for (int k = 23; k >= 1; k -= 2) sum = sum * q + 1.0 / k;
	return 2 * s * sum + e * 0.69314718055994530942;
}

__device__ static inline u64 mix64(u64 x) {
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

// The 16-bit hash of column j in a row with this key. It equals package kernel's, so
// masks agree bit for bit.
__device__ static inline u32 dropHash(u64 key, u32 j) {
	u32 word = (j >> 5 << 4) | (j & 15);
	u32 x = word * 0x9e3779b9u + (u32)key;
	x = (x ^ x >> 16) * 0x7feb352du;
	x ^= (u32)(key >> 32);
	x = (x ^ x >> 15) * 0x846ca68bu;
	x ^= x >> 16;
	return j & 16 ? x >> 16 : x & 0xffff;
}

extern "C" {

// dst[i] = x[ids[i]]. Row kernel.
__global__ void __launch_bounds__(256) gcn_gather(float *dst, const float *x, const int *ids, i64 rows, i64 width) {
	i64 tiles = tilesOf(width), w = globalWarp(), i = w / tiles;
	if (i >= rows) return;
	const float *from = x + (i64)ids[i] * width;
	float *to = dst + i * width;
	for (i64 j = w % tiles * TILE + laneOf(), end = j + TILE; j < end && j < width; j += WARP) to[j] = from[j];
}

// dst[ids[i]] = x[i]; ids are distinct. If status is not null and *status is not 0,
// it does nothing. Row kernel.
__global__ void __launch_bounds__(256) gcn_scatter(float *dst, const float *x, const int *ids, const i64 *status, i64 rows, i64 width) {
	i64 tiles = tilesOf(width), w = globalWarp(), i = w / tiles;
	if (i >= rows || (status && *status != 0)) return;
	const float *from = x + i * width;
	float *to = dst + (i64)ids[i] * width;
	for (i64 j = w % tiles * TILE + laneOf(), end = j + TILE; j < end && j < width; j += WARP) to[j] = from[j];
}

// dst = A*X, or dst + A*X if add is not 0. Column k of A belongs to row ids[k] of X,
// or to row k if ids is null. A null val is 1. Row kernel. Each sum is in the order of
// the entries.
__global__ void __launch_bounds__(256) gcn_spmm(float *dst, const int *ptr, const int *idx, const float *val, const int *ids, const float *x, i64 add, i64 rows, i64 width) {
	i64 tiles = tilesOf(width), w = globalWarp(), i = w / tiles;
	if (i >= rows) return;
	i64 j0 = w % tiles * TILE + laneOf(), j1 = j0 + WARP, j2 = j1 + WARP, j3 = j2 + WARP;
	float a0 = 0, a1 = 0, a2 = 0, a3 = 0;
	int hi = ptr[i + 1];
#pragma unroll 4
	for (int k = ptr[i]; k < hi; k++) {
		int c = idx[k];
		float v = val ? val[k] : 1.0f;
		const float *row = x + (i64)(ids ? ids[c] : c) * width;
		if (j0 < width) a0 += v * row[j0];
		if (j1 < width) a1 += v * row[j1];
		if (j2 < width) a2 += v * row[j2];
		if (j3 < width) a3 += v * row[j3];
	}
	float *y = dst + i * width;
	if (add) {
		if (j0 < width) a0 += y[j0];
		if (j1 < width) a1 += y[j1];
		if (j2 < width) a2 += y[j2];
		if (j3 < width) a3 += y[j3];
	}
	if (j0 < width) y[j0] = a0;
	if (j1 < width) y[j1] = a1;
	if (j2 < width) y[j2] = a2;
	if (j3 < width) y[j3] = a3;
}

// Rows of P*X over full neighbourhoods, P[i][j] = rowScale[i]*a[i][j]*colScale[j]
// with an implicit self-loop: row i of dst is row rows[i] of P*X, or row base+i if
// rows is null. Column j of P belongs to row local[j] of x, or to row j if local is
// null. Row kernel.
__global__ void __launch_bounds__(256) gcn_propagate(float *dst, const int *rows, i64 base, const i64 *ptr, const int *idx, const float *val, const float *rowScale, const float *colScale, const float *x, const int *local, i64 n, i64 width) {
	i64 tiles = tilesOf(width), w = globalWarp(), i = w / tiles;
	if (i >= n) return;
	i64 r = rows ? rows[i] : base + i;
	i64 j0 = w % tiles * TILE + laneOf(), j1 = j0 + WARP, j2 = j1 + WARP, j3 = j2 + WARP;
	float scale = rowScale[r], a0 = 0, a1 = 0, a2 = 0, a3 = 0;
	i64 hi = ptr[r + 1];
#pragma unroll 4
	for (i64 k = ptr[r] - 1; k < hi; k++) {
		bool self = k < ptr[r];
		i64 c = self ? r : idx[k];
		float v = scale * colScale[c];
		if (val && !self) v *= val[k];
		const float *row = x + (local ? (i64)local[c] : c) * width;
		if (j0 < width) a0 += v * row[j0];
		if (j1 < width) a1 += v * row[j1];
		if (j2 < width) a2 += v * row[j2];
		if (j3 < width) a3 += v * row[j3];
	}
	float *y = dst + i * width;
	if (j0 < width) y[j0] = a0;
	if (j1 < width) y[j1] = a1;
	if (j2 < width) y[j2] = a2;
	if (j3 < width) y[j3] = a3;
}

// Row sums of P, for rows and base as in gcn_propagate. A warp a row.
__global__ void __launch_bounds__(256) gcn_row_sums(float *sums, const int *rows, i64 base, const i64 *ptr, const int *idx, const float *val, const float *rowScale, const float *colScale, i64 n) {
	i64 i = globalWarp();
	if (i >= n) return;
	i64 r = rows ? rows[i] : base + i, hi = ptr[r + 1];
	double sum = 0;
	for (i64 k = ptr[r] + laneOf(); k < hi; k += WARP) {
		double s = colScale[idx[k]];
		sum += val ? s * val[k] : s;
	}
	sum = warpSum(sum) + colScale[r];
	if (laneOf() == 0) sums[i] = (float)(sum * rowScale[r]);
}

// dst[i] = scale[i]*bias. A null scale is 1. Row kernel.
__global__ void __launch_bounds__(256) gcn_bias_rows(float *dst, const float *bias, const float *scale, i64 rows, i64 width) {
	i64 tiles = tilesOf(width), w = globalWarp(), i = w / tiles;
	if (i >= rows) return;
	float s = scale ? scale[i] : 1.0f;
	for (i64 j = w % tiles * TILE + laneOf(), end = j + TILE; j < end && j < width; j += WARP) dst[i * width + j] = s * bias[j];
}

// dst = dropout(act(z + scale*bias)), slope = its derivative, whole = dst before
// dropout. A null bias is 0, a null scale 1; slope and whole may be null. act is 0 for
// the identity, 1 for ELU, 2 for ReLU, 3 for GELU. An element is dropped if its 16-bit hash
// is below threshold; 0 drops none. noise, if not null, is the factor of each row's noise, as
// kernel.Dropout says. dst and slope may be z. Row kernel.
__global__ void __launch_bounds__(256) gcn_activate(float *dst, float *slope, float *whole, const float *z, const float *bias, const float *scale, const float *noise, i64 act, i64 threshold, i64 keepBits, i64 seed, i64 rows, i64 width) {
	i64 tiles = tilesOf(width), w = globalWarp(), i = w / tiles;
	if (i >= rows) return;
	float s = scale ? scale[i] : 1.0f, keep = floatOf(keepBits), lost = 0;
	if (noise && threshold) {
		float c = noise[i], more = (float)((double)c * (keep - 1)); // rounded, as on the CPU: no fused multiply-add
		keep = 1 + more;
		lost = 1 - c;
	}
	u64 key = threshold ? mix64(mix64((u64)seed + 0x9e3779b97f4a7c15ULL) + (u64)i * 0x9e3779b97f4a7c15ULL) : 0;
	for (i64 j = w % tiles * TILE + laneOf(), end = j + TILE; j < end && j < width; j += WARP) {
		float v = z[i * width + j], y, d = 1;
		if (bias) v += s * bias[j];
		y = v;
		if (act == 1 && !(v > 0)) d = expNeg(v, &y);
		if (act == 2) {
			if (v <= 0) y = 0;
			if (!(v > 0)) d = 0;
		}
		if (act == 3) d = gelu(v, &y);
		if (whole) whole[i * width + j] = y;
		if (threshold) {
			float by = dropHash(key, (u32)j) < (u32)threshold ? lost : keep;
			y = by ? y * by : 0;
			d = by ? d * by : 0;
		}
		dst[i * width + j] = y;
		if (slope) slope[i * width + j] = d;
	}
}

// dst = a*b, element by element. A thread an element.
__global__ void __launch_bounds__(256) gcn_multiply(float *dst, const float *a, const float *b, i64 n) {
	i64 i = globalThread();
	if (i < n) dst[i] = a[i] * b[i];
}

// dst = a+b, element by element. A thread an element.
__global__ void __launch_bounds__(256) gcn_add(float *dst, const float *a, const float *b, i64 n) {
	i64 i = globalThread();
	if (i < n) dst[i] = a[i] + b[i];
}

// dst[i][j] = (a[ids[i]][j] - b[i][j])*scale[j]. Null ids are the rows themselves, a null b is 0,
// a null scale 1. dst may be b, or a without ids. Row kernel.
__global__ void __launch_bounds__(256) gcn_scaled_difference(float *dst, const float *a, const int *ids, const float *b, const float *scale, i64 rows, i64 width) {
	i64 tiles = tilesOf(width), w = globalWarp(), i = w / tiles;
	if (i >= rows) return;
	const float *from = a + (ids ? (i64)ids[i] : i) * width;
	for (i64 j = w % tiles * TILE + laneOf(), end = j + TILE; j < end && j < width; j += WARP) {
		float v = b ? from[j] - b[i * width + j] : from[j];
		dst[i * width + j] = scale ? v * scale[j] : v;
	}
}

// dst = upstream*share for every element. A thread an element.
__global__ void __launch_bounds__(256) gcn_fill(float *dst, const float *upstream, i64 shareBits, i64 n) {
	i64 i = globalThread();
	if (i < n) dst[i] = *upstream * floatOf(shareBits);
}

// dst[j] = sum over i of scale[i]*x[i][j]*y[i][j]. A null scale or y is 1. A block of
// 32*32 threads for 32 columns: thread (t, j) sums rows t, t+32, … in float64, and the
// 32 sums are added in order.
__global__ void __launch_bounds__(1024) gcn_column_sums(float *dst, const float *x, const float *y, const float *scale, i64 rows, i64 width) {
	__shared__ double sums[WARP][WARP];
	int t = threadIdx.x / WARP, lane = laneOf();
	i64 j = (i64)blockIdx.x * WARP + lane;
	double sum = 0;
	if (j < width) {
#pragma unroll 4
		for (i64 i = t; i < rows; i += WARP) {
			float v = x[i * width + j];
			if (y) v *= y[i * width + j];
			sum += scale ? (double)scale[i] * v : (double)v;
		}
	}
	sums[t][lane] = sum;
	__syncthreads();
	if (t != 0 || j >= width) return;
	for (int k = 1; k < WARP; k++) sum += sums[k][lane];
	dst[j] = (float)sum;
}

// For each row of logits: probs = p = softmax, and rowLoss = -weight*log p[target]. A target
// of -1 gives 0. probs may be null. A warp a row.
__global__ void __launch_bounds__(256) gcn_softmax_loss(float *probs, double *rowLoss, const float *logits, const int *target, const float *weight, i64 smoothingBits, i64 rows, i64 classes) {
	i64 i = globalWarp();
	if (i >= rows) return;
	const float *z = logits + i * classes;
	float top = z[0], total = 0, ignored;
	for (i64 j = laneOf(); j < classes; j += WARP) top = z[j] > top ? z[j] : top;
	top = warpMax(top);
	for (i64 j = laneOf(); j < classes; j += WARP) total += expNeg(z[j] - top, &ignored);
	total = warpSum(total);
	int t = target[i];
	float share = t < 0 ? 0.0f : weight[i], inverse = 1 / total;
	double smoothing = doubleOf(smoothingBits), sum = 0;
	for (i64 j = laneOf(); j < classes; j += WARP) {
		float p = expNeg(z[j] - top, &ignored) * inverse;
		if (probs) probs[i * classes + j] = p;
		sum += z[j];
	}
	sum = warpSum(sum);
	if (laneOf() == 0) rowLoss[i] = t < 0 ? 0.0 : (logOf((double)total) - ((double)z[t] - (double)top) + smoothing * ((double)z[t] - sum / (double)classes)) * (double)share;
}

// dst = upstream*weight*(probs - onehot(target)), or 0 if the target is -1. A thread
// an element.
__global__ void __launch_bounds__(256) gcn_softmax_gradient(float *dst, const float *probs, const int *target, const float *weight, const float *upstream, i64 smoothingBits, i64 rows, i64 classes) {
	i64 k = globalThread();
	if (k >= rows * classes) return;
	i64 i = k / classes;
	int t = target[i];
	if (t < 0) {
		dst[k] = 0;
		return;
	}
	double smoothing = doubleOf(smoothingBits);
	float share = *upstream * weight[i], g = share * probs[k] - share * (float)(smoothing / (double)classes);
	dst[k] = k % classes == t ? g - share * (float)(1 - smoothing) : g;
}

// For each row of logits x: rowLoss = share*(sum of the binary cross-entropies), and
// gradient = upstream*share*(sigmoid(x) - target). A NaN target gives 0. rowLoss and
// gradient may be null; a null upstream is 1. A warp a row.
__global__ void __launch_bounds__(256) gcn_bce_loss(float *gradient, double *rowLoss, const float *logits, const float *target, const float *share, const float *upstream, i64 rows, i64 tasks) {
	i64 i = globalWarp();
	if (i >= rows) return;
	double sum = 0;
	float s = share[i], g = upstream ? s * *upstream : s, ignored;
	for (i64 j = laneOf(); j < tasks; j += WARP) {
		float x = logits[i * tasks + j], y = target[i * tasks + j], d = 0;
		if (y == y) {
			float e = expNeg(x > 0 ? -x : x, &ignored);
			sum += (double)(x > 0 ? x : 0.0f) - (double)x * y + logOf(1 + (double)e);
			d = g * ((x < 0 ? e / (1 + e) : 1 / (1 + e)) - y);
		}
		if (gradient) gradient[i * tasks + j] = d;
	}
	sum = warpSum(sum);
	if (rowLoss && laneOf() == 0) rowLoss[i] = sum * (double)s;
}

// *out = the sum of x, as float32. One block.
__global__ void __launch_bounds__(256) gcn_total(float *out, const double *x, i64 n) {
	double sum = 0;
	for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
	sum = blockSum(sum);
	if (threadIdx.x == 0) *out = (float)sum;
}

// *out = share times the sum of x. One block.
__global__ void __launch_bounds__(256) gcn_sum(float *out, const float *x, i64 shareBits, i64 n) {
	double sum = 0;
	for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
	sum = blockSum(sum);
	if (threadIdx.x == 0) *out = (float)(sum * doubleOf(shareBits));
}

// Layer normalisation of each row. normalized and inverse, for the gradient, may be
// null. dst may be z. A warp a row.
__global__ void __launch_bounds__(256) gcn_layer_norm(float *dst, float *normalized, float *inverse, const float *z, const float *gain, const float *shift, i64 rows, i64 width) {
	i64 i = globalWarp();
	if (i >= rows) return;
	const float *x = z + i * width;
	double sum = 0, squares = 0;
	for (i64 j = laneOf(); j < width; j += WARP) sum += x[j];
	double mean = warpSum(sum) / (double)width;
	for (i64 j = laneOf(); j < width; j += WARP) squares += (x[j] - mean) * (x[j] - mean);
	double factor = 1 / sqrt(warpSum(squares) / (double)width + 1e-5);
	for (i64 j = laneOf(); j < width; j += WARP) {
		float n = (float)((x[j] - mean) * factor);
		if (normalized) normalized[i * width + j] = n;
		dst[i * width + j] = gain[j] * n + shift[j];
	}
	if (inverse && laneOf() == 0) inverse[i] = (float)factor;
}

// Gradient of gcn_layer_norm with respect to z. A warp a row.
__global__ void __launch_bounds__(256) gcn_layer_norm_gradient(float *dst, const float *grad, const float *normalized, const float *inverse, const float *gain, i64 rows, i64 width) {
	i64 i = globalWarp();
	if (i >= rows) return;
	const float *g = grad + i * width, *x = normalized + i * width;
	double sum = 0, along = 0;
	for (i64 j = laneOf(); j < width; j += WARP) {
		double s = (double)g[j] * gain[j];
		sum += s;
		along += s * x[j];
	}
	sum = warpSum(sum) / (double)width;
	along = warpSum(along) / (double)width;
	for (i64 j = laneOf(); j < width; j += WARP)
		dst[i * width + j] = (float)(inverse[i] * ((double)g[j] * gain[j] - sum - x[j] * along));
}

// Partial sums of squares of x, one for each block. The grid has a fixed size.
__global__ void __launch_bounds__(256) gcn_squares(double *partial, const float *x, i64 n) {
	double sum = 0;
	for (i64 i = globalThread(); i < n; i += (i64)gridDim.x * blockDim.x) sum += (double)x[i] * x[i];
	sum = blockSum(sum);
	if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// dst[j][h] = z[j] . vector over the columns of head h. A thread an element.
__global__ void __launch_bounds__(256) gcn_attention_scores(float *dst, const float *z, const float *vector, i64 rows, i64 heads, i64 width) {
	i64 i = globalThread();
	if (i >= rows * heads) return;
	const float *x = z + i * width, *v = vector + i % heads * width;
	float sum = 0;
	for (i64 c = 0; c < width; c++) sum += x[c] * v[c];
	dst[i] = sum;
}

// alpha[k][h] = weight[k]*exp(e)/sum of the row's, e = LeakyReLU(s[idx[k]][h] +
// t[own[i]][h]), with the sign - if dropout drops it. A null weight is 1. A warp a row
// and head.
__global__ void __launch_bounds__(256) gcn_attention_coefficients(float *alpha, const int *ptr, const int *idx, const float *weight, const int *own, const float *s, const float *t, i64 slopeBits, i64 threshold, i64 seed, i64 rows, i64 heads) {
	i64 w = globalWarp(), i = w / heads, h = w % heads;
	if (i >= rows) return;
	i64 lo = ptr[i], hi = ptr[i + 1];
	if (lo == hi) return;
	float target = t[own[i] * heads + h], slope = floatOf(slopeBits), top = -1.0f / 0.0f, ignored;
	for (i64 k = lo + laneOf(); k < hi; k += WARP) {
		if (weight && !(weight[k] > 0)) continue;
		float q = s[idx[k] * heads + h] + target, e = q > 0 ? q : slope * q;
		if (!(e <= top)) top = e;
	}
	top = warpMax(top);
	double total = 0;
	for (i64 k = lo + laneOf(); k < hi; k += WARP) {
		float v = weight ? weight[k] : 1.0f, a = 0;
		if (v > 0) {
			float q = s[idx[k] * heads + h] + target, e = q > 0 ? q : slope * q;
			a = v * expNeg(e - top, &ignored);
		}
		alpha[k * heads + h] = a;
		total += a;
	}
	float inverse = (float)(1 / warpSum(total));
	u64 key = threshold ? mix64(mix64((u64)seed + 0x9e3779b97f4a7c15ULL) + (u64)i * 0x9e3779b97f4a7c15ULL) : 0;
	for (i64 k = lo + laneOf(); k < hi; k += WARP) {
		float a = alpha[k * heads + h];
		if (a != 0) a *= inverse;
		if (threshold && dropHash(key, (u32)((k - lo) * heads + h)) < (u32)threshold) a = -a;
		alpha[k * heads + h] = a;
	}
}

// dst[i] = bias + sum over the row's entries of keep*alpha*z, without entries whose alpha
// is 0 or less. With average every head adds to the same columns. A null bias is 0. Row
// kernel.
__global__ void __launch_bounds__(256) gcn_attend(float *dst, const int *ptr, const int *idx, const float *alpha, const float *z, const float *bias, i64 keepBits, i64 average, i64 rows, i64 heads, i64 width) {
	i64 columns = heads * width, out = average ? width : columns;
	i64 tiles = tilesOf(out), w = globalWarp(), i = w / tiles;
	if (i >= rows) return;
	float keep = floatOf(keepBits);
	for (i64 j = w % tiles * TILE + laneOf(), end = j + TILE; j < end && j < out; j += WARP) {
		float sum = 0;
		i64 first = average ? 0 : j / width, last = average ? heads : first + 1;
		for (i64 k = ptr[i]; k < ptr[i + 1]; k++)
			for (i64 h = first; h < last; h++) {
				float a = alpha[k * heads + h];
				if (!(a <= 0)) sum += keep * a * z[idx[k] * columns + (average ? h * width + j : j)];
			}
		dst[i * out + j] = bias ? sum + bias[j] : sum;
	}
}

// dq[k][h] is the gradient with respect to s + t of entry k, and dt[own[i]][h] its sum over
// row i, for the upstream gradient grad. dt is 0 before. A warp a row and head.
__global__ void __launch_bounds__(256) gcn_attention_slopes(float *dq, float *dt, const int *ptr, const int *idx, const int *own, const float *grad, const float *alpha, const float *s, const float *t, const float *z, i64 slopeBits, i64 keepBits, i64 average, i64 rows, i64 heads, i64 width) {
	i64 w = globalWarp(), i = w / heads, h = w % heads;
	if (i >= rows) return;
	i64 lo = ptr[i], hi = ptr[i + 1], columns = heads * width;
	const float *g = grad + (average ? i * width : i * columns + h * width);
	float keep = floatOf(keepBits), target = t[own[i] * heads + h];
	double mean = 0, total = 0;
	for (i64 k = lo + laneOf(); k < hi; k += WARP) {
		float a = alpha[k * heads + h], d = 0;
		if (!(a <= 0)) {
			const float *x = z + idx[k] * columns + h * width;
			for (i64 c = 0; c < width; c++) d += g[c] * x[c];
			d *= keep;
			mean += (double)a * d;
		}
		dq[k * heads + h] = d;
	}
	float m = (float)warpSum(mean);
	for (i64 k = lo + laneOf(); k < hi; k += WARP) {
		float a = alpha[k * heads + h], d = (a < 0 ? -a : a) * (dq[k * heads + h] - m);
		if (!(s[idx[k] * heads + h] + target > 0)) d *= floatOf(slopeBits);
		dq[k * heads + h] = d;
		total += d;
	}
	total = warpSum(total);
	if (laneOf() == 0) dt[own[i] * heads + h] = (float)total;
}

// ds[j][h] = sum of dq over the entries of column j. A thread an element.
__global__ void __launch_bounds__(256) gcn_attention_sums(float *ds, const int *colPtr, const int *entry, const float *dq, i64 cols, i64 heads) {
	i64 i = globalThread();
	if (i >= cols * heads) return;
	i64 j = i / heads, h = i % heads;
	double sum = 0;
	for (i64 p = colPtr[j]; p < colPtr[j + 1]; p++) sum += dq[entry[p] * heads + h];
	ds[i] = (float)sum;
}

// dz[j] = sum over the entries of column j of keep*alpha*grad, without entries whose alpha
// is 0 or less, + ds[j]*source + dt[j]*target for each head. Row kernel.
__global__ void __launch_bounds__(256) gcn_attention_gradient(float *dz, const int *colPtr, const int *entry, const int *row, const float *grad, const float *alpha, const float *ds, const float *dt, const float *source, const float *target, i64 keepBits, i64 average, i64 cols, i64 heads, i64 width) {
	i64 columns = heads * width, out = average ? width : columns;
	i64 tiles = tilesOf(columns), w = globalWarp(), j = w / tiles;
	if (j >= cols) return;
	float keep = floatOf(keepBits);
	for (i64 c = w % tiles * TILE + laneOf(), end = c + TILE; c < end && c < columns; c += WARP) {
		i64 h = c / width, from = average ? c % width : c;
		float sum = 0;
		for (i64 p = colPtr[j]; p < colPtr[j + 1]; p++) {
			float a = alpha[entry[p] * heads + h];
			if (!(a <= 0)) sum += keep * a * grad[row[p] * out + from];
		}
		dz[j * columns + c] = sum + ds[j * heads + h] * source[c] + dt[j * heads + h] * target[c];
	}
}

// dst[c] = sum over j of d[j][h]*z[j][c], h the head of column c. Blocks and sums as in
// gcn_column_sums.
__global__ void __launch_bounds__(1024) gcn_head_sums(float *dst, const float *d, const float *z, i64 rows, i64 heads, i64 width) {
	__shared__ double sums[WARP][WARP];
	int t = threadIdx.x / WARP, lane = laneOf();
	i64 columns = heads * width, c = (i64)blockIdx.x * WARP + lane;
	double sum = 0;
	if (c < columns)
		for (i64 j = t; j < rows; j += WARP) sum += (double)d[j * heads + c / width] * z[j * columns + c];
	sums[t][lane] = sum;
	__syncthreads();
	if (t != 0 || c >= columns) return;
	for (int k = 1; k < WARP; k++) sum += sums[k][lane];
	dst[c] = (float)sum;
}

// One step of Adam over flat arrays. If the loss or the gradient is not finite, it
// changes nothing but status: status[0] becomes the step (from 1), status[1] 1 for the
// loss or 2 for the gradient. Later steps then change nothing. A clip above 0 bounds
// the gradient's norm. status is volatile: one thread may write it while others read
// it, and 0 and this step mean the same to them. A thread a parameter.
__global__ void __launch_bounds__(256) gcn_adam(float *params, const float *grads, float *m, float *v, i64 n, const double *partial, i64 partials, const float *loss, volatile i64 *status, i64 step, i64 clipBits, i64 beta1, i64 beta2, i64 gain1, i64 gain2, i64 size, i64 correction, i64 epsilon, i64 decay, i64 shrink) {
	i64 stopped = status[0];
	if (stopped != 0 && stopped != step) return;
	double squares = 0, clip = doubleOf(clipBits);
	for (i64 k = 0; k < partials; k++) squares += partial[k];
	bool lossFinite = isFinite(*loss);
	if (!lossFinite || !isFinite(squares)) {
		if (globalThread() == 0) {
			status[1] = lossFinite ? 2 : 1;
			status[0] = step;
		}
		return;
	}
	i64 k = globalThread();
	if (k >= n) return;
	float d = grads[k], w = params[k];
	if (clip > 0) {
		double norm = sqrt(squares);
		if (norm > clip) d *= (float)(clip / norm);
	}
	d += floatOf(decay) * w;
	w *= floatOf(shrink);
	float mk = floatOf(beta1) * m[k] + floatOf(gain1) * d;
	float vk = floatOf(beta2) * v[k] + floatOf(gain2) * d * d;
	m[k] = mk;
	v[k] = vk;
	params[k] = w - floatOf(size) * mk / (sqrtf(vk) * floatOf(correction) + floatOf(epsilon));
}

// For column j, moments[j] is the mean, moments[width + j] the variance, and moments[2*width + j]
// 1/sqrt(variance + 1e-5): of the rows of x, or, if x is 0, of the given moments. Blocks and sums as in gcn_column_sums.
__global__ void __launch_bounds__(1024) gcn_batch_moments(double *moments, const float *x, const float *mean, const float *variance, i64 rows, i64 width) {
	__shared__ double sums[WARP][WARP];
	int t = threadIdx.x / WARP, lane = laneOf();
	i64 c = (i64)blockIdx.x * WARP + lane;
	double centre = 0, square = 0;
	if (x == 0) {
		if (t != 0 || c >= width) return;
		centre = mean[c];
		square = variance[c];
	} else {
		for (int pass = 0; pass < 2; pass++) {
			double sum = 0;
			if (c < width)
				for (i64 i = t; i < rows; i += WARP) {
					double d = x[i * width + c] - centre;
					sum += pass == 0 ? d : d * d;
				}
			sums[t][lane] = sum;
			__syncthreads();
			sum = 0;
			for (int k = 0; k < WARP; k++) sum += sums[k][lane];
			__syncthreads();
			if (pass == 0) centre = sum / rows;
			else square = sum / rows;
		}
		if (t != 0 || c >= width) return;
	}
	moments[c] = centre;
	moments[width + c] = square;
	moments[2 * width + c] = 1 / sqrt(square + 1e-5);
}

// dst = gain*n + shift, n the rows of x less their mean times the inverse; normalized, if not 0,
// becomes n. dst may be x. A thread an element.
__global__ void __launch_bounds__(256) gcn_batch_norm(float *dst, float *normalized, const double *moments, const float *x, const float *gain, const float *shift, i64 rows, i64 width) {
	i64 k = globalThread(), c = k % width;
	if (k >= rows * width) return;
	float n = (float)((x[k] - moments[c]) * moments[2 * width + c]);
	if (normalized != 0) normalized[k] = n;
	dst[k] = gain[c] * n + shift[c];
}

// sums[j] and sums[width + j] are the sums of column j of grad and of grad*normalized. Blocks and
// sums as in gcn_column_sums.
__global__ void __launch_bounds__(1024) gcn_batch_norm_sums(double *sums, const float *grad, const float *normalized, i64 rows, i64 width) {
	__shared__ double parts[2][WARP][WARP];
	int t = threadIdx.x / WARP, lane = laneOf();
	i64 c = (i64)blockIdx.x * WARP + lane;
	double sum = 0, product = 0;
	if (c < width)
		for (i64 i = t; i < rows; i += WARP) {
			double g = grad[i * width + c];
			sum += g;
			product += g * normalized[i * width + c];
		}
	parts[0][t][lane] = sum;
	parts[1][t][lane] = product;
	__syncthreads();
	if (t != 0 || c >= width) return;
	for (int k = 1; k < WARP; k++) {
		sum += parts[0][k][lane];
		product += parts[1][k][lane];
	}
	sums[c] = sum;
	sums[width + c] = product;
}

// The gradient with respect to gcn_batch_norm's x. The moments are of x if sums is not 0. dst may
// be grad. A thread an element.
__global__ void __launch_bounds__(256) gcn_batch_norm_gradient(float *dst, const float *grad, const float *normalized, const double *moments, const double *sums, const float *gain, i64 rows, i64 width) {
	i64 k = globalThread(), c = k % width;
	if (k >= rows * width) return;
	double g = grad[k];
	if (sums != 0) g -= sums[c] / rows + normalized[k] * sums[width + c] / rows;
	dst[k] = (float)(gain[c] * moments[2 * width + c] * g);
}

// dst = factor*moments, for one of the rows of moments. A thread an element.
__global__ void __launch_bounds__(256) gcn_batch_moment(float *dst, const double *moments, i64 factorBits, i64 row, i64 width) {
	i64 c = globalThread();
	if (c < width) dst[c] = (float)(doubleOf(factorBits) * moments[row * width + c]);
}

} // extern "C"

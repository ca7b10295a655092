// An emulated cuBLAS: the products that package cublas calls, in plain loops, on
// the streams of the emulated driver.

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

typedef int status;
enum : status { success = 0, not_initialized = 1, invalid_value = 7, execution_failed = 13 };

typedef int Enqueue(uintptr_t stream, void (*fn)(const void *), const void *arg, size_t size, const uint64_t (*ranges)[2], int n);

namespace {

struct Handle {
	uintptr_t stream = 0;
	Enqueue *enqueue;
};

template <typename F> struct Gemm {
	int ta, tb, m, n, k;
	F alpha;
	const F *a;
	int lda;
	const F *b;
	int ldb;
	F beta;
	F *c;
	int ldc;
};

// One column of C at a time, as a sum of columns of A, so that the inner loop is
// along memory; a transposed A is turned first.
template <typename F> void gemm(const void *arg) {
	const Gemm<F> &g = *(const Gemm<F> *)arg;
	std::vector<F> turned;
	const F *a = g.a;
	size_t lda = g.lda;
	if (g.ta) {
		turned.resize((size_t)g.m * g.k);
		for (int i = 0; i < g.m; i++)
			for (int l = 0; l < g.k; l++) turned[(size_t)l * g.m + i] = g.a[(size_t)i * g.lda + l];
		a = turned.data(), lda = g.m;
	}
	for (int j = 0; j < g.n; j++) {
		F *c = g.c + (size_t)j * g.ldc;
		for (int i = 0; i < g.m; i++) c[i] = g.beta == 0 ? 0 : g.beta * c[i];
		for (int l = 0; l < g.k; l++) {
			F x = g.alpha * (g.tb ? g.b[(size_t)l * g.ldb + j] : g.b[(size_t)j * g.ldb + l]);
			const F *col = a + (size_t)l * lda;
			for (int i = 0; i < g.m; i++) c[i] += x * col[i];
		}
	}
}

uint64_t span(int rows, int cols, int ld, size_t size) {
	return rows == 0 || cols == 0 ? 0 : ((uint64_t)(cols - 1) * ld + rows) * size;
}

uint64_t stride(int n, int inc, size_t size) { return n == 0 ? 0 : ((uint64_t)(n - 1) * abs(inc) + 1) * size; }

template <typename F> status queue_gemm(uintptr_t h, const Gemm<F> &g) {
	auto handle = (Handle *)h;
	if (!handle) return not_initialized;
	int ra = g.ta ? g.k : g.m, rb = g.tb ? g.n : g.k;
	if (g.m < 0 || g.n < 0 || g.k < 0 || g.lda < std::max(1, ra) || g.ldb < std::max(1, rb) || g.ldc < std::max(1, g.m))
		return invalid_value;
	if (g.m == 0 || g.n == 0) return success;
	uint64_t ranges[3][2] = {
		{(uint64_t)g.a, span(ra, g.ta ? g.m : g.k, g.lda, sizeof(F))},
		{(uint64_t)g.b, span(rb, g.tb ? g.k : g.n, g.ldb, sizeof(F))},
		{(uint64_t)g.c, span(g.m, g.n, g.ldc, sizeof(F))}};
	return handle->enqueue(handle->stream, gemm<F>, &g, sizeof g, ranges, 3) ? execution_failed : success;
}

template <typename F> struct Vectors {
	int trans, m, n;
	F alpha;
	F *a;
	int lda;
	const F *x;
	int incx;
	F beta;
	F *y;
	int incy;
};

template <typename F> void gemv(const void *arg) {
	const Vectors<F> &g = *(const Vectors<F> *)arg;
	int rows = g.trans ? g.n : g.m, cols = g.trans ? g.m : g.n;
	for (int i = 0; i < rows; i++) {
		F sum = 0;
		for (int j = 0; j < cols; j++) sum += (g.trans ? g.a[(size_t)i * g.lda + j] : g.a[(size_t)j * g.lda + i]) * g.x[(size_t)j * g.incx];
		F &y = g.y[(size_t)i * g.incy];
		y = g.alpha * sum + (g.beta == 0 ? 0 : g.beta * y);
	}
}

template <typename F> void ger(const void *arg) {
	const Vectors<F> &g = *(const Vectors<F> *)arg;
	for (int j = 0; j < g.n; j++)
		for (int i = 0; i < g.m; i++) g.a[(size_t)j * g.lda + i] += g.alpha * g.x[(size_t)i * g.incx] * g.y[(size_t)j * g.incy];
}

template <typename F> status queue_vectors(uintptr_t h, const Vectors<F> &g, void (*fn)(const void *), int nx, int ny) {
	auto handle = (Handle *)h;
	if (!handle) return not_initialized;
	if (g.m < 0 || g.n < 0 || g.lda < std::max(1, g.m) || g.incx < 1 || g.incy < 1) return invalid_value;
	if (g.m == 0 || g.n == 0) return success;
	uint64_t ranges[3][2] = {
		{(uint64_t)g.a, span(g.m, g.n, g.lda, sizeof(F))},
		{(uint64_t)g.x, stride(nx, g.incx, sizeof(F))},
		{(uint64_t)g.y, stride(ny, g.incy, sizeof(F))}};
	return handle->enqueue(handle->stream, fn, &g, sizeof g, ranges, 3) ? execution_failed : success;
}

} // namespace

API status cublasCreate_v2(uintptr_t *h) {
	auto context = (uintptr_t(*)())dlsym(RTLD_DEFAULT, "gcn_emulator_context");
	auto enqueue = (Enqueue *)dlsym(RTLD_DEFAULT, "gcn_emulator_enqueue");
	if (!context || !enqueue || !context()) return not_initialized;
	auto handle = new Handle;
	handle->enqueue = enqueue;
	*h = (uintptr_t)handle;
	return success;
}

API const char *cublasGetStatusName(status s) {
	switch (s) {
	case success: return "CUBLAS_STATUS_SUCCESS";
	case not_initialized: return "CUBLAS_STATUS_NOT_INITIALIZED";
	case invalid_value: return "CUBLAS_STATUS_INVALID_VALUE";
	case execution_failed: return "CUBLAS_STATUS_EXECUTION_FAILED";
	}
	return nullptr;
}

API status cublasSetStream_v2(uintptr_t h, uintptr_t stream) {
	((Handle *)h)->stream = stream;
	return success;
}

API status cublasSetWorkspace_v2(uintptr_t, uint64_t p, size_t) { return p % 256 ? invalid_value : success; }

#define PRODUCTS(S, F) \
	API status cublas##S##gemm_v2(uintptr_t h, int ta, int tb, int m, int n, int k, const F *alpha, const F *a, int lda, \
		const F *b, int ldb, const F *beta, F *c, int ldc) { \
		return queue_gemm<F>(h, {ta, tb, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc}); \
	} \
	API status cublas##S##gemv_v2(uintptr_t h, int trans, int m, int n, const F *alpha, F *a, int lda, const F *x, int incx, \
		const F *beta, F *y, int incy) { \
		return queue_vectors<F>(h, {trans, m, n, *alpha, a, lda, x, incx, *beta, y, incy}, gemv<F>, trans ? m : n, trans ? n : m); \
	} \
	API status cublas##S##ger_v2(uintptr_t h, int m, int n, const F *alpha, const F *x, int incx, F *y, int incy, F *a, int lda) { \
		return queue_vectors<F>(h, {0, m, n, *alpha, a, lda, x, incx, 0, y, incy}, ger<F>, m, n); \
	}
PRODUCTS(S, float)
PRODUCTS(D, double)

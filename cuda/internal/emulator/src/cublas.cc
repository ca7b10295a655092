// An emulated cuBLAS: the products that package cublas calls, in plain loops, on
// the streams of the emulated driver.

#include <dlfcn.h>
#include <stdint.h>

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

struct Gemm {
	int ta, tb, m, n, k;
	float alpha;
	const float *a;
	int lda;
	const float *b;
	int ldb;
	float beta;
	float *c;
	int ldc;
};

// One column of C at a time, as a sum of columns of A, so that the inner loop is
// along memory; a transposed A is turned first.
void gemm(const void *arg) {
	const Gemm &g = *(const Gemm *)arg;
	std::vector<float> turned;
	const float *a = g.a;
	size_t lda = g.lda;
	if (g.ta) {
		turned.resize((size_t)g.m * g.k);
		for (int i = 0; i < g.m; i++)
			for (int l = 0; l < g.k; l++) turned[(size_t)l * g.m + i] = g.a[(size_t)i * g.lda + l];
		a = turned.data(), lda = g.m;
	}
	for (int j = 0; j < g.n; j++) {
		float *c = g.c + (size_t)j * g.ldc;
		for (int i = 0; i < g.m; i++) c[i] = g.beta == 0 ? 0 : g.beta * c[i];
		for (int l = 0; l < g.k; l++) {
			float x = g.alpha * (g.tb ? g.b[(size_t)l * g.ldb + j] : g.b[(size_t)j * g.ldb + l]);
			const float *col = a + (size_t)l * lda;
			for (int i = 0; i < g.m; i++) c[i] += x * col[i];
		}
	}
}

uint64_t span(int rows, int cols, int ld, size_t size) {
	return rows == 0 || cols == 0 ? 0 : ((uint64_t)(cols - 1) * ld + rows) * size;
}

status queue_gemm(uintptr_t h, const Gemm &g) {
	auto handle = (Handle *)h;
	if (!handle) return not_initialized;
	int ra = g.ta ? g.k : g.m, rb = g.tb ? g.n : g.k;
	if (g.m < 0 || g.n < 0 || g.k < 0 || g.lda < std::max(1, ra) || g.ldb < std::max(1, rb) || g.ldc < std::max(1, g.m))
		return invalid_value;
	if (g.m == 0 || g.n == 0) return success;
	uint64_t ranges[3][2] = {
		{(uint64_t)g.a, span(ra, g.ta ? g.m : g.k, g.lda, sizeof(float))},
		{(uint64_t)g.b, span(rb, g.tb ? g.k : g.n, g.ldb, sizeof(float))},
		{(uint64_t)g.c, span(g.m, g.n, g.ldc, sizeof(float))}};
	return handle->enqueue(handle->stream, gemm, &g, sizeof g, ranges, 3) ? execution_failed : success;
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

API status cublasSgemm_v2(uintptr_t h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
	const float *b, int ldb, const float *beta, float *c, int ldc) {
	return queue_gemm(h, {ta, tb, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc});
}

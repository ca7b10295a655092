#define _GNU_SOURCE
#include "cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS(X) \
	X(Create, "cublasCreate_v2", (handle *)) \
	X(SetStream, "cublasSetStream_v2", (handle, handle)) \
	X(Sgemm, "cublasSgemm_v2", (handle, int, int, int, int, int, const float *, uint64_t, int, uint64_t, int, const float *, uint64_t, int))

static struct {
	int (*set_current)(handle);
	const char *(*GetStatusName)(status);
	status (*SetWorkspace)(handle, uint64_t, size_t);
#define FIELD(name, symbol, args) status(*name) args;
	CALLS(FIELD)
#undef FIELD
} blas;

static char *message(const char *format, const char *a, const char *b) {
	size_t n = strlen(format) + strlen(a) + strlen(b) + 1;
	char *s = malloc(n);
	if (s) snprintf(s, n, format, a, b);
	return s;
}

char *gcn_cublas_open(const char *path, uintptr_t set_current) {
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library) return message("%s%s", dlerror(), "");
#define FIND(name, symbol, args) \
	blas.name = (status(*) args)dlsym(library, symbol); \
	if (!blas.name) { \
		dlclose(library); \
		return message("%s has no %s", path, symbol); \
	}
	CALLS(FIND)
#undef FIND
	// Not in all versions.
	blas.GetStatusName = (const char *(*)(status))dlsym(library, "cublasGetStatusName");
	blas.SetWorkspace = (status(*)(handle, uint64_t, size_t))dlsym(library, "cublasSetWorkspace_v2");
	blas.set_current = (int (*)(handle))set_current;
	return NULL;
}

void gcn_cublas_preload(const char *path) { dlopen(path, RTLD_NOW | RTLD_GLOBAL); }

const char *gcn_cublas_status_name(status s) {
	static const char *names[] = {"CUBLAS_STATUS_SUCCESS", "CUBLAS_STATUS_NOT_INITIALIZED", 0, "CUBLAS_STATUS_ALLOC_FAILED",
		0, 0, 0, "CUBLAS_STATUS_INVALID_VALUE", "CUBLAS_STATUS_ARCH_MISMATCH", 0, 0, "CUBLAS_STATUS_MAPPING_ERROR", 0,
		"CUBLAS_STATUS_EXECUTION_FAILED", "CUBLAS_STATUS_INTERNAL_ERROR", "CUBLAS_STATUS_NOT_SUPPORTED"};
	if (blas.GetStatusName) return blas.GetStatusName(s);
	if (s >= 0 && s < (int)(sizeof names / sizeof *names)) return names[s];
	return 0;
}

// IN makes the context current, then makes the call. 1 is
// CUBLAS_STATUS_NOT_INITIALIZED.
#define IN(call) return blas.set_current(context) ? 1 : (call)

// Setting the stream sets the workspace back to cuBLAS's own, so it is given after.
status gcn_cublas_create(handle context, handle *h, handle stream, uint64_t workspace, size_t workspace_size) {
	if (blas.set_current(context)) return 1;
	status s = blas.Create(h);
	if (!s) s = blas.SetStream(*h, stream);
	if (s || !workspace || !blas.SetWorkspace) return s;
	return blas.SetWorkspace(*h, workspace, workspace_size);
}

status gcn_cublas_sgemm(handle context, handle h, int ta, int tb, int m, int n, int k,
	float alpha, uint64_t a, int lda, uint64_t b, int ldb, float beta, uint64_t c, int ldc) {
	IN(blas.Sgemm(h, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
}

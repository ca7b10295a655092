// The calls of cuBLAS that this package makes, found by dlsym. Written from the
// documented ABI: no NVIDIA header is needed to build it.

#ifndef GCN_CU_CUBLAS_H
#define GCN_CU_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

typedef int status;
typedef uintptr_t handle;

// gcn_cublas_open returns NULL, or the reason of its failure, which the caller frees.
// set_current is cuCtxSetCurrent.
char *gcn_cublas_open(const char *path, uintptr_t set_current);
// gcn_cublas_preload loads a library that another needs, if it can.
void gcn_cublas_preload(const char *path);
const char *gcn_cublas_status_name(status s);

status gcn_cublas_create(handle context, handle *h, handle stream, uint64_t workspace, size_t workspace_size);

status gcn_cublas_sgemm(handle context, handle h, int ta, int tb, int m, int n, int k,
	float alpha, uint64_t a, int lda, uint64_t b, int ldb, float beta, uint64_t c, int ldc);

#endif

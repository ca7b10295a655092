#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The functions of the driver in use: name in the table, exported symbol, return
// type and parameters. The versioned symbols (_v2) are those that the headers
// of CUDA 4 to 13 map to; drivers keep old symbols for good.
#define CALLS(X) \
	X(Init, "cuInit", (unsigned)) \
	X(DriverGetVersion, "cuDriverGetVersion", (int *)) \
	X(GetErrorName, "cuGetErrorName", (CUresult, const char **)) \
	X(GetErrorString, "cuGetErrorString", (CUresult, const char **)) \
	X(DeviceGetCount, "cuDeviceGetCount", (int *)) \
	X(DeviceGet, "cuDeviceGet", (CUdevice *, int)) \
	X(DeviceGetName, "cuDeviceGetName", (char *, int, CUdevice)) \
	X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, CUdevice)) \
	X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice)) \
	X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (handle *, CUdevice)) \
	X(CtxSetCurrent, "cuCtxSetCurrent", (handle)) \
	X(MemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *)) \
	X(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t)) \
	X(MemFree, "cuMemFree_v2", (CUdeviceptr)) \
	X(MemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned)) \
	X(MemFreeHost, "cuMemFreeHost", (void *)) \
	X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, handle)) \
	X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, handle)) \
	X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, handle)) \
	X(MemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, handle)) \
	X(ModuleLoadDataEx, "cuModuleLoadDataEx", (handle *, const void *, unsigned, int *, void **)) \
	X(ModuleUnload, "cuModuleUnload", (handle)) \
	X(ModuleGetFunction, "cuModuleGetFunction", (handle *, handle, const char *)) \
	X(LaunchKernel, "cuLaunchKernel", (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **)) \
	X(StreamCreate, "cuStreamCreate", (handle *, unsigned)) \
	X(StreamDestroy, "cuStreamDestroy_v2", (handle)) \
	X(StreamSynchronize, "cuStreamSynchronize", (handle)) \
	X(StreamWaitEvent, "cuStreamWaitEvent", (handle, handle, unsigned)) \
	X(EventCreate, "cuEventCreate", (handle *, unsigned)) \
	X(EventDestroy, "cuEventDestroy_v2", (handle)) \
	X(EventRecord, "cuEventRecord", (handle, handle)) \
	X(EventQuery, "cuEventQuery", (handle)) \
	X(EventSynchronize, "cuEventSynchronize", (handle))

static struct {
	void *library;
#define FIELD(name, symbol, args) CUresult(*name) args;
	CALLS(FIELD)
#undef FIELD
} cuda;

static char *message(const char *format, const char *a, const char *b) {
	size_t n = strlen(format) + strlen(a) + strlen(b) + 1;
	char *s = malloc(n);
	if (s) snprintf(s, n, format, a, b);
	return s;
}

char *gcn_cu_open(const char *path) {
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library) return message("%s%s", dlerror(), "");
#define FIND(name, symbol, args) \
	cuda.name = (CUresult(*) args)dlsym(library, symbol); \
	if (!cuda.name) { \
		memset(&cuda, 0, sizeof cuda); /* what was found goes with the library */ \
		dlclose(library); \
		return message("%s has no %s: the driver is older than this program needs", path, symbol); \
	}
	CALLS(FIND)
#undef FIND
	cuda.library = library;
	return NULL;
}

void gcn_cu_preload(const char *path) { dlopen(path, RTLD_NOW | RTLD_GLOBAL); }

uintptr_t gcn_cu_symbol(const char *name) {
	return cuda.library ? (uintptr_t)dlsym(cuda.library, name) : 0;
}

const char *gcn_cu_error_name(CUresult r) {
	const char *s = NULL;
	if (cuda.GetErrorName) cuda.GetErrorName(r, &s);
	return s;
}

const char *gcn_cu_error_text(CUresult r) {
	const char *s = NULL;
	if (cuda.GetErrorString) cuda.GetErrorString(r, &s);
	return s;
}

CUresult gcn_cu_init(void) { return cuda.Init(0); }
CUresult gcn_cu_driver_version(int *version) { return cuda.DriverGetVersion(version); }
CUresult gcn_cu_device_count(int *count) { return cuda.DeviceGetCount(count); }
CUresult gcn_cu_device_get(CUdevice *device, int ordinal) { return cuda.DeviceGet(device, ordinal); }
CUresult gcn_cu_device_name(char *name, int size, CUdevice device) { return cuda.DeviceGetName(name, size, device); }
CUresult gcn_cu_device_total_memory(size_t *bytes, CUdevice device) { return cuda.DeviceTotalMem(bytes, device); }
CUresult gcn_cu_device_attribute(int *value, int attribute, CUdevice device) {
	return cuda.DeviceGetAttribute(value, attribute, device);
}
CUresult gcn_cu_primary_context(handle *context, CUdevice device) {
	return cuda.DevicePrimaryCtxRetain(context, device);
}

// IN makes the context current, then makes the call.
#define IN(call) \
	CUresult r = cuda.CtxSetCurrent(context); \
	return r ? r : (call)

CUresult gcn_cu_context_set(handle context) { return cuda.CtxSetCurrent(context); }
CUresult gcn_cu_memory_info(handle context, size_t *free, size_t *total) { IN(cuda.MemGetInfo(free, total)); }
CUresult gcn_cu_alloc(handle context, CUdeviceptr *p, size_t bytes) { IN(cuda.MemAlloc(p, bytes)); }

CUresult gcn_cu_free(handle context, CUdeviceptr p) { IN(cuda.MemFree(p)); }
CUresult gcn_cu_host_alloc(handle context, void **p, size_t bytes, unsigned flags) { IN(cuda.MemHostAlloc(p, bytes, flags)); }
CUresult gcn_cu_host_free(handle context, void *p) { IN(cuda.MemFreeHost(p)); }

CUresult gcn_cu_copy_in(handle context, CUdeviceptr dst, const void *src, size_t bytes, handle stream) {
	IN(cuda.MemcpyHtoDAsync(dst, src, bytes, stream));
}

CUresult gcn_cu_copy_in_at_once(handle context, CUdeviceptr dst, const void *src, size_t bytes, handle stream, int wait) {
	CUresult r = cuda.CtxSetCurrent(context);
	if (!r) r = cuda.MemcpyHtoDAsync(dst, src, bytes, stream);
	return r || !wait ? r : cuda.StreamSynchronize(stream);
}

CUresult gcn_cu_copy_out_at_once(handle context, void *dst, CUdeviceptr src, size_t bytes, handle stream) {
	CUresult r = cuda.CtxSetCurrent(context);
	if (!r) r = cuda.MemcpyDtoHAsync(dst, src, bytes, stream);
	return r ? r : cuda.StreamSynchronize(stream);
}

CUresult gcn_cu_copy(handle context, CUdeviceptr dst, CUdeviceptr src, size_t bytes, handle stream) {
	IN(cuda.MemcpyDtoDAsync(dst, src, bytes, stream));
}
CUresult gcn_cu_set8(handle context, CUdeviceptr dst, unsigned char v, size_t n, handle stream) {
	IN(cuda.MemsetD8Async(dst, v, n, stream));
}

CUresult gcn_cu_module_load(handle context, handle *module, const char *image, char *log, size_t log_size) {
	// CU_JIT_ERROR_LOG_BUFFER and its size; values travel in the pointers.
	int options[2] = {5, 6};
	void *values[2] = {log, (void *)log_size};
	IN(cuda.ModuleLoadDataEx(module, image, 2, options, values));
}
CUresult gcn_cu_module_unload(handle context, handle module) { IN(cuda.ModuleUnload(module)); }
CUresult gcn_cu_module_function(handle context, handle *function, handle module, const char *name) {
	IN(cuda.ModuleGetFunction(function, module, name));
}

CUresult gcn_cu_launch(handle context, handle function,
	unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, handle stream, const uint64_t *words, int n) {
	void *args[64];
	if (n > 64) return 1; // CUDA_ERROR_INVALID_VALUE
	for (int i = 0; i < n; i++) args[i] = (void *)&words[i];
	IN(cuda.LaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, args, NULL));
}

CUresult gcn_cu_stream_create(handle context, handle *stream, unsigned flags) { IN(cuda.StreamCreate(stream, flags)); }
CUresult gcn_cu_stream_destroy(handle context, handle stream) { IN(cuda.StreamDestroy(stream)); }
CUresult gcn_cu_stream_synchronize(handle context, handle stream) { IN(cuda.StreamSynchronize(stream)); }
CUresult gcn_cu_stream_wait(handle context, handle stream, handle event) { IN(cuda.StreamWaitEvent(stream, event, 0)); }
CUresult gcn_cu_event_create(handle context, handle *event, unsigned flags) { IN(cuda.EventCreate(event, flags)); }
CUresult gcn_cu_event_destroy(handle context, handle event) { IN(cuda.EventDestroy(event)); }
CUresult gcn_cu_event_record(handle context, handle event, handle stream) { IN(cuda.EventRecord(event, stream)); }
CUresult gcn_cu_event_query(handle context, handle event) { IN(cuda.EventQuery(event)); }
CUresult gcn_cu_event_synchronize(handle context, handle event) { IN(cuda.EventSynchronize(event)); }

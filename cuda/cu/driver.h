// The few calls of the CUDA driver that this module makes, found by dlsym.
// Written from the documented ABI: no NVIDIA header is needed to build it.
//
// Every function takes the context it works in and makes it current on the
// calling thread first, so that a goroutine may move between threads at will.

#ifndef GCN_CU_DRIVER_H
#define GCN_CU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
// Handles are kept as integers, so that Go neither scans nor checks them.
typedef uintptr_t handle;

// gcn_cu_open loads the library at path and looks every symbol up. It returns
// NULL, or the reason of its failure, which the caller frees.
char *gcn_cu_open(const char *path);
void gcn_cu_preload(const char *path);
uintptr_t gcn_cu_symbol(const char *name);
const char *gcn_cu_error_name(CUresult r);
const char *gcn_cu_error_text(CUresult r);

CUresult gcn_cu_init(void);
CUresult gcn_cu_driver_version(int *version);
CUresult gcn_cu_device_count(int *count);
CUresult gcn_cu_device_get(CUdevice *device, int ordinal);
CUresult gcn_cu_device_name(char *name, int size, CUdevice device);
CUresult gcn_cu_device_total_memory(size_t *bytes, CUdevice device);
CUresult gcn_cu_device_attribute(int *value, int attribute, CUdevice device);
CUresult gcn_cu_primary_context(handle *context, CUdevice device);

CUresult gcn_cu_context_set(handle context);
CUresult gcn_cu_memory_info(handle context, size_t *free, size_t *total);
CUresult gcn_cu_alloc(handle context, CUdeviceptr *p, size_t bytes);
CUresult gcn_cu_free(handle context, CUdeviceptr p);
CUresult gcn_cu_host_alloc(handle context, void **p, size_t bytes, unsigned flags);
CUresult gcn_cu_host_free(handle context, void *p);

CUresult gcn_cu_copy_in(handle context, CUdeviceptr dst, const void *src, size_t bytes, handle stream);
// The copy has read src when it returns: with wait where the device could read it
// itself, else because the driver copies it aside.
CUresult gcn_cu_copy_in_at_once(handle context, CUdeviceptr dst, const void *src, size_t bytes, handle stream, int wait);
CUresult gcn_cu_copy_out_at_once(handle context, void *dst, CUdeviceptr src, size_t bytes, handle stream);
CUresult gcn_cu_copy(handle context, CUdeviceptr dst, CUdeviceptr src, size_t bytes, handle stream);
CUresult gcn_cu_set8(handle context, CUdeviceptr dst, unsigned char v, size_t n, handle stream);

CUresult gcn_cu_module_load(handle context, handle *module, const char *image, char *log, size_t log_size);
CUresult gcn_cu_module_unload(handle context, handle module);
CUresult gcn_cu_module_function(handle context, handle *function, handle module, const char *name);
// gcn_cu_launch passes n arguments of at most 8 bytes each, one a word.
CUresult gcn_cu_launch(handle context, handle function,
	unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, handle stream, const uint64_t *words, int n);

CUresult gcn_cu_stream_create(handle context, handle *stream, unsigned flags);
CUresult gcn_cu_stream_destroy(handle context, handle stream);
CUresult gcn_cu_stream_synchronize(handle context, handle stream);
CUresult gcn_cu_stream_wait(handle context, handle stream, handle event);
CUresult gcn_cu_event_create(handle context, handle *event, unsigned flags);
CUresult gcn_cu_event_destroy(handle context, handle event);
CUresult gcn_cu_event_record(handle context, handle event, handle stream);
CUresult gcn_cu_event_query(handle context, handle event);
CUresult gcn_cu_event_synchronize(handle context, handle event);

#endif

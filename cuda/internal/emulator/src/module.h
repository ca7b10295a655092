// How a compiled .cu file makes its kernels known to the driver.

#pragma once

#include <stddef.h>
#include <utility>

#define GCN_HIDDEN __attribute__((visibility("hidden")))

struct GcnKernel {
	const char *name;
	void (*call)(void *const *args);
	const size_t *sizes; // of the arguments, in bytes
	size_t count;
};

struct GcnModule {
	const char *name;
	const char *sources; // the lines "// source …" and "// text …" that its PTX must have
	bool translated;     // from the PTX, not compiled from the sources
	const GcnKernel *kernels;
	size_t count;
	const GcnModule *next;
};

extern GCN_HIDDEN const GcnModule *gcn_modules;

template <auto F> struct GcnCall;
template <typename... A, void (*F)(A...)> struct GcnCall<F> {
	static constexpr size_t sizes[sizeof...(A) + 1] = {sizeof(A)...};
	static constexpr size_t count = sizeof...(A);
	template <size_t... I> static void with(void *const *args, std::index_sequence<I...>) { F(*(A *)args[I]...); }
	static void call(void *const *args) { with(args, std::index_sequence_for<A...>()); }
};

#define GCN_KERNEL(name, function) {#name, GcnCall<function>::call, GcnCall<function>::sizes, GcnCall<function>::count}

// 1/x under the name that Gorgonia looks it up by: its own kernel is called
// inverse.

#define GCN_INVERSE(name, type) \
	extern "C" __global__ void name(type *x, int n) { \
		int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); \
		int i = block * blockDim.x + threadIdx.x; \
		if (i < n) x[i] = 1 / x[i]; \
	}
GCN_INVERSE(inv_f32, float)
GCN_INVERSE(inv_f64, double)

// Kernels that try out what kernels may use, on a GPU and on the emulated device
// alike: the tests of package cu and of the emulator launch them. Those at the
// end are wrong on purpose.

typedef long long i64;

extern "C" {

__global__ void probe_add(float *y, const float *a, const float *b, i64 n) {
	i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = a[i] + b[i];
}

// Arguments of all sizes.
__global__ void probe_arguments(double *out, char a, short b, int c, float d, double e, i64 f) {
	out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e, out[5] = (double)f;
}

// Where each thread is, in a grid and block of three dimensions.
__global__ void probe_where(int *out) {
	int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	int *at = out + 6 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
	at[0] = blockIdx.x, at[1] = blockIdx.y, at[2] = blockIdx.z;
	at[3] = threadIdx.x, at[4] = threadIdx.y, at[5] = threadIdx.z;
}

// Running sums within each block of 256: many barriers, shared memory.
__global__ void probe_scan(int *y, const int *x) {
	__shared__ int sums[256];
	int t = threadIdx.x;
	sums[t] = x[blockIdx.x * 256 + t];
	for (int step = 1; step < 256; step *= 2) {
		__syncthreads();
		int add = t >= step ? sums[t - step] : 0;
		__syncthreads();
		sums[t] += add;
	}
	y[blockIdx.x * 256 + t] = sums[t];
}

// Each way of shuffling, for a warp; out holds 32 results for each.
__global__ void probe_shuffle(i64 *out, int by, int width) {
	int lane = threadIdx.x & 31;
	unsigned all = 0xffffffffu;
	out[lane] = __shfl_sync(all, lane * 3, by, width);
	out[32 + lane] = __shfl_up_sync(all, lane * 3, by, width);
	out[64 + lane] = __shfl_down_sync(all, (float)lane * 3, by, width) == -1 ? -1 : (i64)__shfl_down_sync(all, (float)lane * 3, by, width);
	out[96 + lane] = __shfl_xor_sync(all, (i64)lane << 40, by, width) >> 40;
	out[128 + lane] = (i64)__shfl_xor_sync(all, (double)lane, by, width);
	out[160 + lane] = __ballot_sync(all, lane % 3 == 0);
	out[192 + lane] = __any_sync(all, lane == by) * 2 + __all_sync(all, lane < 32);
	i64 half = 0;
	if (lane < 16) half = __shfl_xor_sync(0xffffu, lane, 1);
	__syncwarp();
	out[224 + lane] = half;
}

// What may be done between threads: hand on within a warp after __syncwarp, within
// a block after a barrier, write a word of one's own that others read later, and
// read a volatile word that one thread writes.
__global__ void probe_handing_on(int *y, volatile int *flag) {
	__shared__ int values[256];
	int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	if (i == 0) flag[0] = 1;
	values[t] = t;
	__syncwarp();
	int sum = values[t ^ 1] + (flag[0] > 1);
	__syncthreads();
	values[t] = sum;
	__syncthreads();
	y[i] = values[(t + 100) % 256];
	__syncthreads();
	if (t % 2 == 0) y[i] += y[i + 1];
}

// y = x + 1 once for each time it is launched, slowly, by one thread.
__global__ void probe_count(i64 *y, i64 rounds) {
	i64 v = *y;
	for (i64 k = 0; k < rounds; k++) v = (v ^ k) ^ k;
	*y = v + 1;
}

// Writes n floats, whatever is there.
__global__ void probe_write(float *y, i64 n) {
	for (i64 i = threadIdx.x; i < n; i += blockDim.x) y[i] = 1;
}

// Half of the block never comes to the barrier.
__global__ void probe_lost_barrier(int *y) {
	if (threadIdx.x % 2 == 0) __syncthreads();
	y[threadIdx.x] = 1;
}

// The mask names lanes that are elsewhere.
__global__ void probe_lost_shuffle(int *y) {
	if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 1);
}

// Neighbours read without a barrier what neighbours write.
__global__ void probe_race(int *y) {
	__shared__ int values[256];
	values[threadIdx.x] = threadIdx.x;
	y[threadIdx.x] = values[(threadIdx.x + 100) % 256];
}

// Each block writes what the block before it reads.
__global__ void probe_race_blocks(int *y) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	y[i] = i;
	if (blockIdx.x + 1 < gridDim.x && y[i + blockDim.x] == -2) y[i] = 0;
}

// The same, the other way round: what was read is written later.
__global__ void probe_race_read(int *y) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int next = y[(i + 1) % (gridDim.x * blockDim.x)];
	__syncthreads();
	y[i] = next;
}

// All read one number, which the last thread then writes.
__global__ void probe_race_last(int *y) {
	int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
	y[i] = y[0];
	if (i == gridDim.x * blockDim.x) y[0] = 1;
}

// Reads one float past what y has.
__global__ void probe_read_past(float *y, i64 n) { y[0] = y[n]; }

} // extern "C"

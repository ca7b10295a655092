package plan

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	available "github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// InferenceMemory is the memory of inference on the CPU, reused from call to call.
// One call at a time may use it. The zero value is empty.
type InferenceMemory struct {
	// Limit is the number of bytes that the outputs of hidden layers may take in memory. A
	// larger one lies in a file in the folder Dir ("": of temporary files) until Free. 0
	// means no limit.
	Limit int64
	Dir   string

	// Reserved is the number of bytes of Limit that the caller needs while it computes the
	// next output. If the output does not fit beside them, it lies in a file. If there is no
	// room for the file, it stays in memory.
	Reserved int64

	scratch [scratches][]float32
	spilled map[Scratch]func() error // frees those that lie in files
	files   int
	wide    []float32 // one chunk's features, in single precision
	index   []int32
	ahead   []int32 // rows to prefetch, or to gather
	ids     []int32 // of one chunk
	places  []int32 // of these in features that several ranks hold
	sparse  graph.CSR
	mixed   graph.CSR // P·X of one chunk
	product kernel.SparseProduct
	forks   []InferenceMemory

	neighborhoods neighborhoods
}

// Bytes returns the size of m.
func (m *InferenceMemory) Bytes() int64 {
	n := cap(m.wide) + cap(m.index) + cap(m.ahead) + cap(m.ids) + cap(m.places)
	for _, s := range m.scratch {
		n += cap(s)
	}
	e := &m.neighborhoods.edges
	n += 2*cap(e.Ptr) + cap(e.Own) + cap(e.Idx) + cap(e.Weight)
	bytes := 4*int64(n) + m.sparse.Bytes() + 2*m.mixed.Bytes() // the parts of product are as large
	for k := range m.forks {
		bytes += m.forks[k].Bytes()
	}
	return bytes
}

// Left returns the bytes of Limit that the layers' outputs in memory leave free.
func (m *InferenceMemory) Left() int64 {
	left := m.Limit
	for name, s := range m.scratch {
		if m.spilled[Scratch(name)] == nil {
			left -= 4 * int64(cap(s))
		}
	}
	return left
}

// Files returns the number of matrices that were put into files so far.
func (m *InferenceMemory) Files() int { return m.files }

// Free frees the memory that lies in files.
func (m *InferenceMemory) Free() error {
	var err error
	for name, free := range m.spilled {
		m.scratch[name] = nil
		err = errors.Join(err, free())
	}
	m.spilled = nil
	return err
}

// spill puts a matrix of n values into a file if it is of a whole layer and takes more than
// half of the memory that is left, or leaves less than Reserved.
func (m *InferenceMemory) spill(name Scratch, n int) (bool, error) {
	whole := name == Hidden0 || name == Hidden1 || name == Transformed || name == Jumped
	large := available.Product(8, int64(n)) > m.Left()
	if m.Limit == 0 || !whole || !large && (m.Reserved == 0 || 4*int64(n) <= m.Left()-m.Reserved) {
		return false, nil
	}
	values, free, err := available.Spilled(m.Dir, n)
	if err != nil && !large {
		return false, nil // it fits in memory, and the caller's work takes longer
	}
	if err != nil {
		return false, err
	}
	if m.spilled == nil {
		m.spilled = map[Scratch]func() error{}
	}
	m.scratch[name], m.spilled[name] = values, free
	m.files++
	return true, nil
}

// resize returns a slice of length n, in the memory of s if n fits. The elements are
// not initialised.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

type cpuKernels struct {
	p      *graph.Laplacian
	memory *InferenceMemory
	blas   blas.BLAS
	rows   []int32 // set by Needed
	forked bool
	roomy  bool // there is memory for the scratch of large chunks
}

func newCPUKernels(p *graph.Laplacian, m *InferenceMemory) (Kernels, error) {
	b, err := blas.Default()
	return &cpuKernels{p: p, memory: m, blas: b}, err
}

// ChunkRows gives chunks of 4 MiB. Kernels of one core get chunks of about half a
// second-level cache, in whole tasks of a dense product; larger ones if P is so dense that it
// is multiplied by segments of H.
func (k *cpuKernels) ChunkRows(width int) int {
	if k.forked {
		const task = 48
		tasks := max(1, min(64, (1<<17)/(task*max(width, 1))))
		if n := k.p.Nodes(); k.roomy && n > 0 {
			tasks = max(tasks, kernel.SegmentedRows(n, k.p.Adjacency.NNZ()/int64(n), n, width)/task)
		}
		return task * tasks
	}
	return max(64, min(4096, (1<<20)/max(width, 1)))
}

func (k *cpuKernels) Grain(width int) int {
	if _, own := k.blas.(blas.RowBLAS); own {
		return 1
	}
	return k.ChunkRows(width)
}

// Fork returns kernels for each core, unless the BLAS is a library, which has threads of
// its own.
func (k *cpuKernels) Fork() []Kernels {
	cores := runtime.GOMAXPROCS(0)
	if _, own := k.blas.(blas.RowBLAS); !own {
		return nil
	}
	if len(k.memory.forks) != cores {
		k.memory.forks = make([]InferenceMemory, cores)
	}
	const large = 128 << 20 // more than the scratch memory of one core with large chunks
	roomy := k.memory.Limit == 0 || k.memory.Left() > int64(cores)*large
	forks := make([]Kernels, cores)
	for i := range forks {
		forks[i] = &cpuKernels{p: k.p, memory: &k.memory.forks[i], blas: k.blas, rows: k.rows, forked: true, roomy: roomy}
	}
	return forks
}

func (k *cpuKernels) Load(parameters [][]float32) ([]Span, error) {
	spans := make([]Span, len(parameters))
	for i, values := range parameters {
		spans[i].host = values
	}
	return spans, nil
}

func (k *cpuKernels) Features(x *graph.Features) (Rows, error) {
	return Rows{Span: Span{host: x.Data}, Width: x.Cols, Count: x.Rows, half: x.Half, prefetch: x.Prefetch, features: x}, nil
}

func (k *cpuKernels) Released(x *graph.Features) {
	if x.Release != nil {
		x.Release()
	}
}

func (k *cpuKernels) Needed(rows []int32, _ bool) error {
	k.rows = rows
	return nil
}

func (k *cpuKernels) Index(rows []int32) (Index, error) {
	k.memory.index = indexOf(k.memory.index, rows, k.p.Nodes())
	return Index{host: k.memory.index}, nil
}

// indexOf returns the map from a node to its position in rows. It reuses the memory
// of index if that is large enough.
func indexOf(index, rows []int32, nodes int) []int32 {
	index = resize(index, nodes)
	for i, v := range rows {
		index[v] = int32(i)
	}
	return index
}

// Scratch frees a memory that is too small before it allocates the larger one, so
// that both never exist at the same time.
func (k *cpuKernels) Scratch(name Scratch, n int) (Span, error) {
	s := &k.memory.scratch[name]
	if old := cap(*s); old < n {
		if free := k.memory.spilled[name]; free != nil {
			delete(k.memory.spilled, name)
			*s, old = nil, 0
			if err := free(); err != nil {
				return Span{}, err
			}
		}
		if spilled, err := k.memory.spill(name, n); spilled || err != nil {
			return Span{host: *s}, err
		}
		if err := available.Check(fmt.Sprintf("a matrix of %d values", n), available.Product(int64(n), 4)); err != nil {
			return Span{}, err
		}
		*s = nil
		if old > 1<<24 { // worth a collection
			debug.FreeOSMemory()
		}
		*s = available.Large(n)
	}
	*s = (*s)[:n]
	return Span{host: *s}, nil
}

func (k *cpuKernels) Logits(dst []float32) (Span, error) { return Span{host: dst}, nil }

func (k *cpuKernels) Read([]float32, Span) error { return nil }

func (k *cpuKernels) Copy(dst []float32, x Span) error {
	if x.sparse != nil {
		k.memory.ids = countFrom(k.memory.ids, 0, x.sparse.Rows)
		kernel.GatherSparse(dst, x.sparse, k.memory.ids)
		return nil
	}
	parallel.For(len(dst), 1<<16, func(lo, hi int) { copy(dst[lo:hi], x.host[lo:hi]) })
	return nil
}

// countFrom returns n numbers from first on, in the memory of s.
func countFrom(s []int32, first, n int) []int32 {
	s = resize(s, n)
	for i := range s {
		s[i] = int32(first + i)
	}
	return s
}

func (k *cpuKernels) Part(h Rows, lo, n int) (Span, error) {
	if h.prefetch != nil {
		k.memory.ahead = k.memory.ahead[:0]
		for i := lo; i < min(lo+2*n, h.Count); i++ { // this part and the next
			k.memory.ahead = append(k.memory.ahead, int32(i))
		}
		h.prefetch(k.memory.ahead)
	}
	if h.Sparse() || h.features != nil && h.features.Share != nil {
		k.memory.ids = countFrom(k.memory.ids, lo, n)
		return k.gather(h.features, k.memory.ids)
	}
	if h.half == nil {
		return Span{host: h.host[lo*h.Width : (lo+n)*h.Width]}, nil
	}
	k.memory.wide = resize(k.memory.wide, n*h.Width)
	kernel.Widen(k.memory.wide, h.half[lo*h.Width:(lo+n)*h.Width])
	return Span{host: k.memory.wide}, nil
}

func (k *cpuKernels) Propagate(dst Span, h Rows, lo, n int) error {
	rows, y := k.rows[lo:lo+n], dst.host[:n*h.Width]
	k.prefetch(rows)
	switch written := h.Index.written; {
	case h.half != nil:
		kernel.PropagateRowsHalf(y, k.p, rows, h.half, h.Width)
	case written.Of(k.rows):
		written.Multiply(y, lo, lo+n, h.host, h.Width)
	default:
		kernel.PropagateRows(y, k.p, rows, h.host, h.Width, h.Index.host)
	}
	return nil
}

// prefetch starts to read rows of P that lie in a file larger than memory.
func (k *cpuKernels) prefetch(rows []int32) {
	if read := k.p.Adjacency.Prefetch; read != nil {
		read(rows)
	}
}

func (k *cpuKernels) Propagated(h Rows, lo, n int) (Span, error) {
	sparse := h.Sparse()
	// A decision for all rows: a row has the same bits in any chunk.
	if sparse && !kernel.Crowded(k.p.Nodes(), k.p.Adjacency.NNZ()+int64(k.p.Nodes()), h.features.Sparse) {
		k.memory.product.MultiplyLaplacian(&k.memory.mixed, k.p, k.rows[lo:lo+n], h.features.Sparse)
		return Span{sparse: &k.memory.mixed}, nil
	}
	mixed, err := k.Scratch(Mixed, n*h.Width)
	switch {
	case err != nil:
		return mixed, err
	case sparse:
		kernel.PropagateRowsSparse(mixed.host, k.p, k.rows[lo:lo+n], h.features.Sparse)
		return mixed, nil
	}
	return mixed, k.Propagate(mixed, h, lo, n)
}

func (k *cpuKernels) RowSums(dst Span, lo, n int) error {
	rows, sums := k.rows[lo:lo+n], dst.host
	k.prefetch(rows)
	parallel.For(n, 1024, func(from, to int) {
		for i := from; i < to; i++ {
			sums[i] = float32(k.p.RowSum(int(rows[i])))
		}
	})
	return nil
}

func (k *cpuKernels) Own(x Rows, lo, n int) (Span, error) {
	rows := k.rows[lo : lo+n]
	if x.Index.host != nil {
		k.memory.ahead = k.memory.ahead[:0]
		for _, v := range rows {
			k.memory.ahead = append(k.memory.ahead, x.Index.host[v])
		}
		rows = k.memory.ahead
	}
	if x.prefetch != nil {
		x.prefetch(rows)
	}
	if x.features != nil {
		return k.gather(x.features, rows)
	}
	k.memory.wide = resize(k.memory.wide, n*x.Width)
	kernel.Gather(k.memory.wide, x.host, rows, x.Width)
	return Span{host: k.memory.wide}, nil
}

// gather returns rows of x.
func (k *cpuKernels) gather(x *graph.Features, rows []int32) (Span, error) {
	if x.Sparse != nil {
		kernel.SelectRows(&k.memory.sparse, x.Sparse, rows)
		return Span{sparse: &k.memory.sparse}, nil
	}
	places, err := x.Places(k.memory.places, rows)
	if err != nil {
		return Span{}, err
	}
	if x.Share != nil {
		k.memory.places = places
	}
	k.memory.wide = resize(k.memory.wide, len(rows)*x.Cols)
	if x.Half != nil {
		kernel.GatherHalf(k.memory.wide, x.Half, places, x.Cols)
	} else {
		kernel.Gather(k.memory.wide, x.Data, places, x.Cols)
	}
	return Span{host: k.memory.wide}, nil
}

func (k *cpuKernels) Affine(dst, x, w, b, scale Span, n, in, out int) error {
	if x.sparse != nil {
		kernel.SpMMBias(dst.host, x.sparse, w.host, out, b.host, upTo(scale.host, n))
		return nil
	}
	if with, ok := k.blas.(blas.RowBLAS); ok && !b.None() {
		with.SgemmBias(n, out, in, x.host, in, w.host, out, b.host, upTo(scale.host, n), dst.host, out)
		return nil
	}
	var beta float32
	if !b.None() {
		kernel.BiasRows(dst.host[:n*out], b.host, upTo(scale.host, n), n, out)
		beta = 1
	}
	k.blas.Sgemm(false, false, n, out, in, 1, x.host, in, w.host, out, beta, dst.host, out)
	return nil
}

// upTo returns the first n elements of s; nil stays nil.
func upTo(s []float32, n int) []float32 {
	if s == nil {
		return nil
	}
	return s[:n]
}

func (k *cpuKernels) Add(dst, x, w Span, n, in, out int) error {
	if x.sparse != nil {
		k.memory.wide = resize(k.memory.wide, n*out)
		kernel.SpMM(k.memory.wide, x.sparse, w.host, out)
		return k.Sum(dst, Span{host: k.memory.wide}, n*out)
	}
	k.blas.Sgemm(false, false, n, out, in, 1, x.host, in, w.host, out, 1, dst.host, out)
	return nil
}

func (k *cpuKernels) Sum(dst, x Span, n int) error {
	if x.sparse != nil {
		k.memory.wide = resize(k.memory.wide, n)
		if err := k.Copy(k.memory.wide, x); err != nil {
			return err
		}
		x = Span{host: k.memory.wide}
	}
	parallel.For(n, 1<<14, func(lo, hi int) {
		y, x := dst.host[lo:hi], x.host[lo:hi]
		for i, v := range x {
			y[i] += v
		}
	})
	return nil
}

func (k *cpuKernels) Max(dst, x Span, n int) error {
	parallel.For(n, 1<<14, func(lo, hi int) {
		y, x := dst.host[lo:hi], x.host[lo:hi]
		for i, v := range x {
			y[i] = max(y[i], v)
		}
	})
	return nil
}

func (k *cpuKernels) LayerNorm(dst, x, gain, shift Span, n, width int) error {
	kernel.LayerNorm(dst.host[:n*width], nil, nil, x.host[:n*width], gain.host, shift.host, n, width)
	return nil
}

func (k *cpuKernels) ScaleColumns(dst, x, scale, shift Span, n, width int) error {
	kernel.ScaleColumns(dst.host[:n*width], x.host[:n*width], scale.host, shift.host, n, width)
	return nil
}

func (k *cpuKernels) Activate(dst, x Span, act kernel.Activation, n, width int) error {
	kernel.Activate(act, dst.host[:n*width], nil, x.host[:n*width], n, width, kernel.Dropout{})
	return nil
}

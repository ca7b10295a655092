//go:build !nodlopen && (amd64 || arm64) && (linux || darwin)

package blas

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// libraries returns where a BLAS may be found, best first. Names without a
// folder go to the dynamic linker.
func libraries() []string {
	if runtime.GOOS == "darwin" {
		return []string{
			"/System/Library/Frameworks/Accelerate.framework/Accelerate",
			"/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
			"/usr/local/opt/openblas/lib/libopenblas.dylib",
		}
	}
	return []string{
		"libopenblas.so.0", "libopenblas.so",
		"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so",
		"libblis.so.4", "libblis.so.3", "libblis.so",
	}
}

// library is a BLAS loaded from a shared library. It stays loaded for the life
// of the process.
type library struct {
	name  string
	sgemm uintptr
}

// Open loads the shared library at path, or the library that the dynamic linker
// finds under that name, and sets it to one thread if it is OpenBLAS, MKL or
// BLIS. The library must offer the Fortran routine sgemm_, as OpenBLAS, MKL,
// BLIS, Accelerate and the reference BLAS do, and it must multiply a small
// example right. Loading runs the library's own code; the setting of one thread
// holds for the process.
func Open(path string) (BLAS, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("blas: %s cannot be loaded: %v", path, err)
	}
	sgemm, err := purego.Dlsym(handle, "sgemm_")
	if err != nil {
		return nil, fmt.Errorf("blas: %s has no sgemm_", path)
	}
	l := &library{sgemm: sgemm, name: filepath.Base(path)}
	l.oneThread(handle)
	if !multiplies(l) {
		return nil, fmt.Errorf("blas: %s: its sgemm_ does not multiply matrices", path)
	}
	return l, nil
}

// multiplies tells whether b gets a small product right.
func multiplies(b BLAS) bool {
	c := []float32{1, 1, 1, 1}
	b.Sgemm(false, true, 2, 2, 3, 2, []float32{1, 2, 3, 4, 5, 6}, 3, []float32{1, 0, -1, 2, 1, 0}, 3, 1, c, 2)
	return slices.Equal(c, []float32{-3, 9, -3, 27})
}

// oneThread keeps the library from starting threads of its own, and learns its
// full name where it tells.
func (l *library) oneThread(handle uintptr) {
	find := func(symbol string) uintptr {
		f, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return 0
		}
		return f
	}
	if f := find("openblas_set_num_threads"); f != 0 {
		purego.SyscallN(f, 1)
		l.name = "OpenBLAS"
		var config func() string
		if f := find("openblas_get_config"); f != 0 {
			purego.RegisterFunc(&config, f)
			// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
			if words := strings.Fields(config()); len(words) > 1 {
				l.name = words[0] + " " + words[1]
			}
		}
		if f := find("openblas_get_corename"); f != 0 {
			purego.RegisterFunc(&config, f)
			l.name += " " + config()
		}
		return
	}
	if f := find("MKL_Set_Num_Threads"); f != 0 {
		purego.SyscallN(f, 1)
		l.name = "MKL"
		return
	}
	if f := find("bli_thread_set_num_threads"); f != 0 {
		purego.SyscallN(f, 1)
		l.name = "BLIS"
	}
}

func (l *library) Name() string { return l.name }
func (l *library) Threads() int { return runtime.GOMAXPROCS(0) }

func (l *library) Sgemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkSgemm(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	if m == 0 || n == 0 {
		return
	}
	g := &product{transA: transA, transB: transB, m: m, n: n, k: k, alpha: alpha, a: a, lda: lda, b: b, ldb: ldb, beta: beta, c: c, ldc: ldc}
	t := tilesOf(m, n, k)
	if t.count() == 1 {
		l.tile(g, 0, m, 0, n)
		return
	}
	parallel.For(t.count(), 1, func(r, _ int) {
		i0, i1, j0, j1 := t.at(r)
		l.tile(g, i0, i1, j0, j1)
	})
}

// product is a call of Sgemm.
type product struct {
	transA, transB bool
	m, n, k        int
	alpha, beta    float32
	a, b, c        []float32
	lda, ldb, ldc  int
}

// call holds the arguments of sgemm_, which takes all of them by address.
type call struct {
	args                   [15]uintptr
	m, n, k, lda, ldb, ldc int64 // little-endian, so a library of 32-bit integers reads them too
	alpha, beta            float32
	transA, transB         byte
}

var calls = sync.Pool{New: func() any { return new(call) }}

// tile computes rows i0 to i1 and columns j0 to j1 of C. Fortran stores columns
// first, so it is asked for Cᵀ = op(B)ᵀ·op(A)ᵀ.
func (l *library) tile(g *product, i0, i1, j0, j1 int) {
	a, b := g.a, g.b
	if g.transA {
		a = a[i0:]
	} else {
		a = a[i0*g.lda:]
	}
	if g.transB {
		b = b[j0*g.ldb:]
	} else {
		b = b[j0:]
	}
	c := g.c[i0*g.ldc+j0:]
	x := calls.Get().(*call)
	*x = call{
		m: int64(i1 - i0), n: int64(j1 - j0), k: int64(g.k),
		lda: int64(g.lda), ldb: int64(g.ldb), ldc: int64(g.ldc),
		alpha: g.alpha, beta: g.beta,
		transA: letter(g.transA), transB: letter(g.transB),
	}
	// The arguments go through a slice that is kept: spelled out, they would
	// cost an allocation each time. All that they point to is on the heap,
	// which does not move, and is kept alive below.
	x.args = [15]uintptr{
		uintptr(unsafe.Pointer(&x.transB)), uintptr(unsafe.Pointer(&x.transA)),
		uintptr(unsafe.Pointer(&x.n)), uintptr(unsafe.Pointer(&x.m)), uintptr(unsafe.Pointer(&x.k)),
		uintptr(unsafe.Pointer(&x.alpha)),
		uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&x.ldb)),
		uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&x.lda)),
		uintptr(unsafe.Pointer(&x.beta)),
		uintptr(unsafe.Pointer(&c[0])), uintptr(unsafe.Pointer(&x.ldc)),
		1, 1, // lengths of the two strings, for Fortran compilers that pass them
	}
	purego.SyscallN(l.sgemm, x.args[:]...)
	runtime.KeepAlive(g)
	runtime.KeepAlive(x)
	calls.Put(x)
}

func letter(trans bool) byte {
	if trans {
		return 'T'
	}
	return 'N'
}

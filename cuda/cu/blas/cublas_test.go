package cublas

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"
	"gorgonia.org/cu/internal/devicetest"
)

func TestMain(m *testing.M) { devicetest.Main(m, "../../..") }

var must = devicetest.Must

func handle(t testing.TB) *Handle {
	t.Helper()
	devicetest.Need(t)
	h, err := Current()
	if errors.Is(err, ErrNoLibrary) {
		t.Skip(err)
	}
	must(t, err)
	return h
}

func random[F float32 | float64](rng *rand.Rand, n int) []F {
	x := make([]F, n)
	for i := range x {
		x[i] = F(rng.NormFloat64())
	}
	return x
}

// near is float32's error for sums of k products of numbers near 1.
func near[F float32 | float64](got, want []F, k int) error {
	tolerance := 1e-6 * float64(k+4)
	for i := range want {
		if d := float64(got[i] - want[i]); !(d < tolerance && -d < tolerance) {
			return fmt.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// product is C := alpha·op(A)·op(B) + beta·C by columns, in plain loops.
func product[F float32 | float64](ta, tb T, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) {
	for j := range n {
		for i := range m {
			sum := 0.0
			for l := range k {
				x, y := l*lda+i, j*ldb+l
				if ta {
					x = i*lda + l
				}
				if tb {
					y = l*ldb + j
				}
				sum += float64(a[x]) * float64(b[y])
			}
			c[j*ldc+i] = F(float64(alpha)*sum + float64(beta)*float64(c[j*ldc+i]))
		}
	}
}

func testGemm[F float32 | float64](t *testing.T, gemm func(ta, tb T, m, n, k int, alpha F, a cu.DevicePtr, lda int, b cu.DevicePtr, ldb int, beta F, c cu.DevicePtr, ldc int) error) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {64, 33, 17}, {40, 256, 128}, {5, 4, 0}} {
		m, n, k := s[0], s[1], s[2]
		for _, ta := range []T{false, true} {
			for _, tb := range []T{false, true} {
				for _, beta := range []F{0, 0.5} {
					rowsA, colsA, rowsB, colsB := m, k, k, n
					if ta {
						rowsA, colsA = k, m
					}
					if tb {
						rowsB, colsB = n, k
					}
					lda, ldb, ldc := max(rowsA, 1)+2, max(rowsB, 1)+1, m+3
					a, b, c := random[F](rng, lda*max(colsA, 1)+1000), random[F](rng, ldb*max(colsB, 1)+1000), random[F](rng, ldc*n)
					p := devicetest.Put(t, c)
					must(t, gemm(ta, tb, m, n, k, 0.75, devicetest.Put(t, a), lda, devicetest.Put(t, b), ldb, beta, p, ldc))
					got := devicetest.Get[F](t, p, len(c))
					product(ta, tb, m, n, k, 0.75, a, lda, b, ldb, beta, c, ldc)
					if err := near(got, c, k); err != nil {
						t.Fatalf("%v, transposed %v %v, beta %v: %v", s, ta, tb, beta, err)
					}
				}
			}
		}
	}
}

func TestGemm(t *testing.T) {
	h := handle(t)
	t.Run("float32", func(t *testing.T) { testGemm(t, h.Sgemm) })
	t.Run("float64", func(t *testing.T) { testGemm(t, h.Dgemm) })
	if path, err := Path(); err != nil || path == "" {
		t.Errorf("library %q, %v", path, err)
	}
}

func TestGemvAndGer(t *testing.T) {
	h := handle(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const m, n, lda = 7, 5, 9
	a := random[float32](rng, lda*n)
	for _, ta := range []T{false, true} {
		rows, cols := m, n
		if ta {
			rows, cols = n, m
		}
		x, y := random[float32](rng, cols), random[float32](rng, rows)
		p := devicetest.Put(t, y)
		must(t, h.Sgemv(ta, m, n, 2, devicetest.Put(t, a), lda, devicetest.Put(t, x), 1, 0.5, p, 1))
		product(ta, false, rows, 1, cols, 2, a, lda, x, cols, 0.5, y, rows)
		if err := near(devicetest.Get[float32](t, p, rows), y, cols); err != nil {
			t.Errorf("Sgemv %v: %v", ta, err)
		}
		a64, x64, y64 := random[float64](rng, lda*n), random[float64](rng, cols), random[float64](rng, rows)
		p = devicetest.Put(t, y64)
		must(t, h.Dgemv(ta, m, n, 2, devicetest.Put(t, a64), lda, devicetest.Put(t, x64), 1, 0, p, 1))
		product(ta, false, rows, 1, cols, 2, a64, lda, x64, cols, 0, y64, rows)
		if err := near(devicetest.Get[float64](t, p, rows), y64, cols); err != nil {
			t.Errorf("Dgemv %v: %v", ta, err)
		}
	}
	x, y := random[float32](rng, m), random[float32](rng, n)
	p := devicetest.Put(t, a)
	must(t, h.Sger(m, n, 3, devicetest.Put(t, x), 1, devicetest.Put(t, y), 1, p, lda))
	product(false, false, m, n, 1, 3, x, m, y, 1, 1, a, lda)
	if err := near(devicetest.Get[float32](t, p, len(a)), a, 1); err != nil {
		t.Errorf("Sger: %v", err)
	}
	a64, x64, y64 := random[float64](rng, lda*n), random[float64](rng, m), random[float64](rng, n)
	p = devicetest.Put(t, a64)
	must(t, h.Dger(m, n, 3, devicetest.Put(t, x64), 1, devicetest.Put(t, y64), 1, p, lda))
	product(false, false, m, n, 1, 3, x64, m, y64, 1, 1, a64, lda)
	if err := near(devicetest.Get[float64](t, p, len(a64)), a64, 1); err != nil {
		t.Errorf("Dger: %v", err)
	}
}

func TestWrongCalls(t *testing.T) {
	h := handle(t)
	p := devicetest.Put(t, make([]float32, 64))
	err := h.Sgemm(false, false, 8, 8, 8, 1, p, 7, p, 8, 0, p, 8)
	if s := Status(0); !errors.As(err, &s) || s != 7 || !strings.Contains(err.Error(), "cublasSgemm(m=8 n=8 k=8 lda=7 ldb=8 ldc=8): CUBLAS_STATUS_INVALID_VALUE (7)") {
		t.Errorf("a leading dimension too small: %v", err)
	}
	name, err := cu.Device(0).Name()
	must(t, err)
	if strings.HasPrefix(name, "Emulated") {
		if err := h.Sgemm(false, false, 8, 9, 8, 1, p, 8, p, 8, 0, p, 8); err == nil {
			t.Error("a product over the end of memory was accepted")
		}
	}
}

// There is one handle for each context.
func TestOneHandle(t *testing.T) {
	h := handle(t)
	if again, err := Current(); err != nil || again != h {
		t.Errorf("another handle for the same context: %v", err)
	}
}

// Standard computes with slices of device memory, as Gorgonia calls it.
func TestStandard(t *testing.T) {
	handle(t)
	var s Standard
	must(t, s.Init(WithContext(nil)))
	const m, n, k = 3, 4, 2
	rng := rand.New(rand.NewPCG(5, 6))
	a, b, c := random[float32](rng, m*k), random[float32](rng, k*n), make([]float32, m*n)
	p := devicetest.Put(t, c)
	s.Sgemm(blas.NoTrans, blas.Trans, m, n, k, 1, view[float32](devicetest.Put(t, a), m*k), m, view[float32](devicetest.Put(t, b), k*n), n, 0, view[float32](p, m*n), m)
	must(t, s.Err())
	product(false, true, m, n, k, 1, a, m, b, n, 0, c, m)
	if err := near(devicetest.Get[float32](t, p, m*n), c, k); err != nil {
		t.Error(err)
	}
	x, y := view[float64](devicetest.Put(t, []float64{3}), 1), devicetest.Put(t, []float64{1})
	v := view[float64](y, 1)
	s.Dgemm(blas.NoTrans, blas.NoTrans, 1, 1, 1, 1, x, 1, x, 1, 2, v, 1) // 9+2
	s.Dgemv(blas.Trans, 1, 1, 1, x, 1, x, 1, 1, v, 1)                    // +9
	s.Dger(1, 1, 2, x, 1, x, 1, v, 1)                                    // +18
	if got := devicetest.Get[float64](t, y, 1); got[0] != 38 {
		t.Errorf("got %v", got)
	}
	w, z := view[float32](devicetest.Put(t, []float32{2}), 1), devicetest.Put(t, []float32{5})
	s.Sgemv(blas.NoTrans, 1, 1, 1, w, 1, w, 1, 0, view[float32](z, 1), 1) // 4
	s.Sger(1, 1, 3, w, 1, w, 1, view[float32](z, 1), 1)                   // +12
	if got := devicetest.Get[float32](t, z, 1); got[0] != 16 {
		t.Errorf("got %v", got)
	}
	must(t, s.Err())
	s.Sgemm(blas.NoTrans, blas.NoTrans, 2, 2, 2, 1, w, 1, w, 1, 0, w, 1)
	s.Sger(1, 1, 1, w, 0, w, 1, w, 1)
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "cublasSgemm") {
		t.Errorf("the first error is %v", err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("it stays: %v", err)
	}
	must(t, s.Close())
}

func view[F float32 | float64](p cu.DevicePtr, n int) []F {
	return unsafe.Slice(*(**F)(unsafe.Pointer(&p)), n)
}

func TestConcurrentProducts(t *testing.T) {
	h := handle(t)
	const n = 16
	rng := rand.New(rand.NewPCG(7, 8))
	a := random[float32](rng, n*n)
	want := make([]float32, n*n)
	product(false, false, n, n, n, 1, a, n, a, n, 0, want, n)
	p := devicetest.Put(t, a)
	var wg sync.WaitGroup
	for range 6 {
		c := devicetest.Put(t, make([]float32, n*n))
		wg.Go(func() {
			for range 20 {
				if err := h.Sgemm(false, false, n, n, n, 1, p, n, p, n, 0, c, n); err != nil {
					t.Error(err)
					return
				}
			}
			got := make([]float32, n*n)
			if err := cu.MemcpyDtoH(unsafe.Pointer(&got[0]), c, 4*n*n); err != nil {
				t.Error(err)
			} else if err := near(got, want, n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestCandidates(t *testing.T) {
	root := t.TempDir()
	touch := func(path string) string {
		path = filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, nil, 0o755))
		return path
	}
	wheel12 := touch("env/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12")
	wheel13 := touch("conda/lib/python3.13/site-packages/nvidia/cu13/lib/libcublas.so.13")
	home := touch("cuda/lib64/libcublas.so.11")
	python := touch("py/bin/python3.11")
	beside := touch("py/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12")
	bundled := touch("py/lib/python3.11/site-packages/torch/lib/libcublas.so.11")
	must(t, os.MkdirAll(filepath.Join(root, "bin"), 0o755))
	must(t, os.Symlink(python, filepath.Join(root, "bin", "python3")))
	env := map[string]string{
		"CUDA_HOME": filepath.Join(root, "cuda"), "VIRTUAL_ENV": filepath.Join(root, "env"),
		"CONDA_PREFIX": filepath.Join(root, "conda"), "PATH": filepath.Join(root, "bin"),
	}
	getenv := func(name string) string { return env[name] }
	for driver, want := range map[int][]string{
		13: {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", home, wheel12, wheel13, beside, bundled},
		12: {"libcublas.so.12", "libcublas.so.11", home, wheel12, beside, bundled}, // newer ones do not run
	} {
		got := slices.DeleteFunc(candidates(getenv, driver), func(path string) bool {
			return filepath.IsAbs(path) && !strings.HasPrefix(path, root) // of the machine
		})
		if !slices.Equal(got, want) {
			t.Errorf("driver %d: candidates\n%s\nwant\n%s", driver, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	env["GCN_CUBLAS"] = "/a/libcublas.so.12"
	if got := candidates(getenv, 12); !slices.Equal(got, []string{"/a/libcublas.so.12"}) {
		t.Errorf("with GCN_CUBLAS: %v", got)
	}
}

// TestWithoutLibrary runs itself where there is a device but no cuBLAS.
func TestWithoutLibrary(t *testing.T) {
	if os.Getenv("GCN_TEST_WITHOUT") != "" {
		_, err := Current()
		fmt.Println(errors.Is(err, ErrNoLibrary), errors.Is(err, cu.ErrNoDriver), err)
		var s Standard
		s.Sgemm(blas.NoTrans, blas.NoTrans, 1, 1, 1, 1, nil, 1, nil, 1, 0, nil, 1)
		fmt.Println("standard:", s.Err())
		return
	}
	run := func(environment ...string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWithoutLibrary$")
		cmd.Env = append(append(os.Environ(), "GCN_TEST_WITHOUT=1"), environment...)
		out, err := cmd.CombinedOutput()
		must(t, err)
		return string(out)
	}
	if out := run("GCN_CUDA=/nowhere/libcuda.so.1"); !strings.HasPrefix(out, "false true cu: no NVIDIA driver") {
		t.Errorf("without a driver:\n%s", out)
	}
	if cu.Available() != nil {
		t.Skip("no device")
	}
	want := "cublas: no cuBLAS library: /nowhere/libcublas.so.13: cannot open shared object file: No such file or directory (GCN_CUBLAS may name one)\n"
	if out := run("GCN_CUBLAS=/nowhere/libcublas.so.13"); !strings.HasPrefix(out, "true false "+want) || !strings.Contains(out, "standard: "+want) {
		t.Errorf("without a library:\n%s", out)
	}
	if out := run("GCN_CUBLAS=libc.so.6"); !strings.Contains(out, "libc.so.6 has no cublasCreate_v2") {
		t.Errorf("with another library:\n%s", out)
	}
}

// Products of Standard where there is no GPU: the test runs itself without a driver.
func TestStandardOnTheCPU(t *testing.T) {
	if os.Getenv("GCN_TEST_CPU") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStandardOnTheCPU$")
		cmd.Env = append(os.Environ(), "GCN_TEST_CPU=1", "GCN_CUDA=/nowhere/libcuda.so.1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	_, err := cu.CPU.MakeContext(cu.SchedAuto)
	must(t, err)
	var s Standard
	must(t, s.Init())
	a := []float64{1, 2, 3, 4, 5, 6} // by columns 2×3: rows 1 3 5 and 2 4 6
	c := make([]float64, 4)
	s.Dgemm(blas.NoTrans, blas.Trans, 2, 2, 3, 1, a, 2, a, 2, 0, c, 2)
	if want := []float64{35, 44, 44, 56}; !slices.Equal(c, want) {
		t.Errorf("A·Aᵀ is %v, want %v", c, want)
	}
	wide := []float32{1, 2, 3, 4, 5, 6}
	narrow := []float32{1, 0, 2, 1, 1, 1} // 3×2: rows 1 1, 0 1 and 2 1
	product := make([]float32, 4)
	s.Sgemm(blas.NoTrans, blas.NoTrans, 2, 2, 3, 1, wide, 2, narrow, 3, 0, product, 2)
	if want := []float32{11, 14, 9, 12}; !slices.Equal(product, want) {
		t.Errorf("A·B is %v, want %v", product, want)
	}
	y := make([]float32, 2)
	s.Sgemv(blas.NoTrans, 2, 3, 1, wide, 2, []float32{1, 0, 2}, 1, 0, y, 1)
	if want := []float32{11, 14}; !slices.Equal(y, want) {
		t.Errorf("A·x is %v, want %v", y, want)
	}
	z := make([]float64, 3)
	s.Dgemv(blas.Trans, 2, 3, 1, a, 2, []float64{1, 2}, 1, 0, z, 1)
	if want := []float64{5, 11, 17}; !slices.Equal(z, want) {
		t.Errorf("Aᵀ·x is %v, want %v", z, want)
	}
	outer := make([]float64, 6)
	s.Dger(2, 3, 1, []float64{1, 2}, 1, []float64{3, 4, 5}, 1, outer, 2)
	if want := []float64{3, 6, 4, 8, 5, 10}; !slices.Equal(outer, want) {
		t.Errorf("x·yᵀ is %v, want %v", outer, want)
	}
	must(t, s.Err())
}

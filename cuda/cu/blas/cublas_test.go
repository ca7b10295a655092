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

func random(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// near is float32's error for sums of k products of numbers near 1.
func near(got, want []float32, k int) error {
	tolerance := 1e-6 * float64(k+4)
	for i := range want {
		if d := float64(got[i] - want[i]); !(d < tolerance && -d < tolerance) {
			return fmt.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// product is C := alpha·op(A)·op(B) + beta·C by columns, in plain loops.
func product(ta, tb T, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
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
			c[j*ldc+i] = float32(float64(alpha)*sum + float64(beta)*float64(c[j*ldc+i]))
		}
	}
}

func testGemm(t *testing.T, h *Handle) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {64, 33, 17}, {40, 256, 128}, {5, 4, 0}} {
		m, n, k := s[0], s[1], s[2]
		for _, ta := range []T{false, true} {
			for _, tb := range []T{false, true} {
				for _, beta := range []float32{0, 0.5} {
					rowsA, colsA, rowsB, colsB := m, k, k, n
					if ta {
						rowsA, colsA = k, m
					}
					if tb {
						rowsB, colsB = n, k
					}
					lda, ldb, ldc := max(rowsA, 1)+2, max(rowsB, 1)+1, m+3
					a, b, c := random(rng, lda*max(colsA, 1)+1000), random(rng, ldb*max(colsB, 1)+1000), random(rng, ldc*n)
					p := devicetest.Put(t, c)
					must(t, h.Sgemm(ta, tb, m, n, k, 0.75, devicetest.Put(t, a), lda, devicetest.Put(t, b), ldb, beta, p, ldc))
					got := devicetest.Get[float32](t, p, len(c))
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
	testGemm(t, h)
	if path, err := Path(); err != nil || path == "" {
		t.Errorf("library %q, %v", path, err)
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

func TestConcurrentProducts(t *testing.T) {
	h := handle(t)
	const n = 16
	rng := rand.New(rand.NewPCG(7, 8))
	a := random(rng, n*n)
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
	if out := run("GCN_CUBLAS=/nowhere/libcublas.so.13"); !strings.HasPrefix(out, "true false "+want) {
		t.Errorf("without a library:\n%s", out)
	}
	if out := run("GCN_CUBLAS=libc.so.6"); !strings.Contains(out, "libc.so.6 has no cublasCreate_v2") {
		t.Errorf("with another library:\n%s", out)
	}
}

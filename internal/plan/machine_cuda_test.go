//go:build cuda

package plan

import (
	"runtime"
	"testing"
	"time"

	"gorgonia.org/cu"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Machines come and go without leaving memory or goroutines.
func TestMachinesEnd(t *testing.T) {
	g := G.NewGraph()
	x := G.NewMatrix(g, tensor.Float32, G.WithShape(8, 8), G.WithName("x"), G.WithValue(tensor.New(tensor.WithShape(8, 8), tensor.WithBacking(make([]float32, 64)))))
	G.Must(G.Exp(x))
	use := func() {
		m := G.NewTapeMachine(g)
		if err := m.RunAll(); err == nil {
			t.Fatal("a plain node is computed")
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	use()
	goroutines := runtime.NumGoroutine()
	before, _, err := cu.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		use()
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if free, _, err := cu.MemInfo(); err != nil || free != before {
		t.Errorf("%d bytes of memory are free, %d before: %v", free, before, err)
	}
}

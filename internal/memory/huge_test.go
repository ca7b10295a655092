package memory

import "testing"

func TestLarge(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 10, 1<<19 + 1, 1<<21 + 7} {
		x := Large[float32](n)
		if len(x) != n {
			t.Fatalf("%d values, want %d", len(x), n)
		}
		for i := range x {
			if x[i] != 0 {
				t.Fatalf("value %d of %d is %v", i, n, x[i])
			}
			x[i] = 1
		}
	}
}

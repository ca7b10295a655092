package memory_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

func TestCheck(t *testing.T) {
	if err := memory.Check("a page", 4096); err != nil {
		t.Error(err)
	}
	for _, bytes := range []int64{-1, math.MaxInt64} {
		if err := memory.Check("a matrix", bytes); memory.Limit() < math.MaxInt64 && !errors.Is(err, memory.ErrTooLarge) {
			t.Errorf("%d bytes: %v", bytes, err)
		}
	}
}

func TestTally(t *testing.T) {
	if memory.Limit() == math.MaxUint64 {
		t.Skip("this system does not report its memory")
	}
	tally := memory.Tally{What: "a file"}
	if err := tally.Add(100); err != nil {
		t.Fatal(err)
	}
	var taken int64 = 100
	for taken < 1<<62 {
		taken *= 2
		if err := tally.Add(taken / 2); err != nil {
			if !errors.Is(err, memory.ErrTooLarge) || uint64(taken) < memory.Limit()/4 {
				t.Errorf("after %d bytes: %v", taken, err)
			}
			return
		}
	}
	t.Error("no error")
}

func TestProduct(t *testing.T) {
	for _, c := range []struct {
		factors []int64
		want    int64
	}{
		{nil, 1}, {[]int64{3, 4, 5}, 60}, {[]int64{1 << 62, 2}, -1}, {[]int64{1 << 62, 0, 9}, 0},
		{[]int64{-1, 0}, -1}, {[]int64{math.MaxInt64, 1}, math.MaxInt64}, {[]int64{1 << 40, 1 << 40, 0}, -1},
	} {
		if got := memory.Product(c.factors...); got != c.want {
			t.Errorf("product of %v: %d, want %d", c.factors, got, c.want)
		}
	}
}

func Example() {
	nodes, width := int64(1e9), int64(1e6)
	fmt.Println(memory.Text(uint64(memory.Product(nodes, width, 4))))
	err := memory.Check("ogb:big: edge features", memory.Product(nodes, width, width, width))
	fmt.Println(errors.Is(err, memory.ErrTooLarge))
	// Output:
	// 4 PB
	// true
}

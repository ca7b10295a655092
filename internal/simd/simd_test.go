package simd_test

import (
	"fmt"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/simd"
)

func ExampleLevel() {
	fmt.Println(simd.AVX2, simd.AVX2 < simd.AVX512)
	// Output: avx2 true
}

func TestAvailable(t *testing.T) {
	l := simd.Available()
	if l > simd.AVX512 || l != simd.Available() {
		t.Errorf("level %d", l)
	}
	t.Logf("this machine: %v", l)
}

package memory

import (
	"math"
	"testing"
)

func TestLimit(t *testing.T) {
	if limit := Limit(); limit < 1<<24 || limit == math.MaxUint64 {
		t.Errorf("this machine has %d bytes", limit)
	}
}

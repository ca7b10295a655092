package memory

import "testing"

func TestOwn(t *testing.T) {
	before, ok := Own()
	if !ok {
		t.Skip("the system does not tell")
	}
	const values = 16 << 20
	x := Large(values)
	for i := range x {
		x[i] = 1
	}
	if after, _ := Own(); after < before+2*values { // half: other memory may go back
		t.Errorf("%d bytes, and %d with %d bytes more", before, after, 4*values)
	}
	if x[values/2] != 1 {
		t.Error("another value")
	}
}

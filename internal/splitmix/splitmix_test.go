package splitmix

import "testing"

// TestOutput compares with published numbers: five of seed 1234567 (Rosetta Code,
// "Pseudo-random numbers/Splitmix64"), and the first one of seed 0.
func TestOutput(t *testing.T) {
	want := []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821}
	for k, w := range want {
		if got := Output(1234567, uint64(k+1)); got != w {
			t.Errorf("number %d is %d, want %d", k+1, got, w)
		}
	}
	if got := Hash(0); got != 0xe220a8397b1dcdaf {
		t.Errorf("Hash(0) = %#x, want 0xe220a8397b1dcdaf", got)
	}
}

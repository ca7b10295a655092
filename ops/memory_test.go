package ops

import "testing"

func TestMemoryLendsWhatCameLast(t *testing.T) {
	for _, c := range []struct {
		free []int // in the order of their return
		n    int
		want int
	}{
		{nil, 5, 0},
		{[]int{10, 12, 11}, 9, 11},
		{[]int{10, 12, 3, 4}, 9, 12},
		{[]int{7, 3}, 9, 3}, // grows
	} {
		m := new(Memory)
		for _, n := range c.free {
			m.free = append(m.free, &buffer{data: make([]float32, n)})
		}
		b := m.take(c.n)
		if got := cap(b.data); got != c.want {
			t.Errorf("of %v for %d elements it took %d, want %d", c.free, c.n, got, c.want)
		}
		if data := b.grow(c.n); len(data) != c.n {
			t.Errorf("of %v for %d elements came %d", c.free, c.n, len(data))
		}
		if left := max(len(c.free)-1, 0); len(m.free) != left {
			t.Errorf("of %v, %d are left, want %d", c.free, len(m.free), left)
		}
	}
}

package memory

// Tally adds up memory that is taken bit by bit, as by a reader that learns only
// at the end how much a file holds. It calls Check ahead of what is taken. The
// zero value with What set is ready to use. It is not safe for concurrent use.
type Tally struct {
	What string // starts the error's line, as in Check

	taken, checked int64
}

// Add notes that bytes more are about to be taken. The error is Check's, about
// all bytes so far. Most calls cost an addition.
func (t *Tally) Add(bytes int64) error {
	const step = 64 << 20
	t.taken += bytes
	if t.taken <= t.checked {
		return nil
	}
	t.checked = (t.taken/step + 1) * step
	return Check(t.What, t.checked)
}

package memory

// Tally counts memory that is taken in small amounts, such as by a reader of a file of
// unknown length. It calls Check before the memory is taken. The zero value with What
// set is ready to use. It is not safe for concurrent use.
type Tally struct {
	What string // begins the error, as in Check

	taken int64
}

// Add counts bytes that are about to be taken. The error is Check's, for the sum of all bytes so
// far, once for each 64 MB. Most calls cost one addition.
func (t *Tally) Add(bytes int64) error {
	const step = 64 << 20
	before := t.taken
	t.taken += bytes
	if before/step == t.taken/step {
		return nil
	}
	return Check(t.What, t.taken)
}

package graph

import "fmt"

// Features is a dense row-major matrix of node features, one row a node.
// It is read-only in use and safe for concurrent reading; Data may lie in a
// memory-mapped file.
type Features struct {
	Rows, Cols int
	Data       []float32 // Rows·Cols values

	// Release, where not nil, may be called by a reader of most of Data that will
	// not need it for a while: what a mapping holds in memory goes back to the
	// system, and is read from the file again when it is needed. Data stays
	// valid; readers on other goroutines are slowed down, not disturbed.
	Release func()
}

// Row returns the features of node i. The slice aliases x.
func (x *Features) Row(i int) []float32 { return x.Data[i*x.Cols : (i+1)*x.Cols] }

// Validate reports the first thing wrong with x: a length that is not
// Rows·Cols, or a value that is not finite, named by row and column.
func (x *Features) Validate() error {
	if x.Rows < 0 || x.Cols <= 0 || len(x.Data) != x.Rows*x.Cols {
		return fmt.Errorf("graph: features %d×%d hold %d values: %w", x.Rows, x.Cols, len(x.Data), ErrInvalid)
	}
	for k, v := range x.Data {
		if !finite(v) {
			return fmt.Errorf("graph: feature %d of node %d is %v, want finite: %w", k%x.Cols, k/x.Cols, v, ErrInvalid)
		}
	}
	return nil
}

package reference

// Matrix is a dense matrix: m[i][j] is the entry in row i and column j. A vector is a matrix
// of one row. Each method but Rows returns a matrix with memory of its own.
type Matrix [][]float64

// NewMatrix returns the rows×cols matrix with the entries f(i, j).
func NewMatrix(rows, cols int, f func(i, j int) float64) Matrix {
	m := make(Matrix, rows)
	for i := range m {
		m[i] = make([]float64, cols)
		for j := range m[i] {
			m[i][j] = f(i, j)
		}
	}
	return m
}

// Each returns the matrix of m's size with the entries f(i, j).
func (m Matrix) Each(f func(i, j int) float64) Matrix {
	return NewMatrix(len(m), len(m[0]), f)
}

// Times returns the product m·b.
func (m Matrix) Times(b Matrix) Matrix {
	return NewMatrix(len(m), len(b[0]), func(i, j int) float64 {
		sum := 0.0
		for k := range b {
			sum += m[i][k] * b[k][j]
		}
		return sum
	})
}

// Transposed returns mᵀ.
func (m Matrix) Transposed() Matrix {
	return NewMatrix(len(m[0]), len(m), func(i, j int) float64 { return m[j][i] })
}

// PlusRow returns m + 1⊗b: the vector b added to each row.
func (m Matrix) PlusRow(b Matrix) Matrix {
	return m.Each(func(i, j int) float64 { return m[i][j] + b[0][j] })
}

// ColumnSums returns the vector 1ᵀ·m.
func (m Matrix) ColumnSums() Matrix {
	return NewMatrix(1, len(m), func(int, int) float64 { return 1 }).Times(m)
}

// Rows returns Q·m for the Q that selects the given rows, which it shares with m.
func (m Matrix) Rows(q []int32) Matrix {
	rows := make(Matrix, len(q))
	for k, i := range q {
		rows[k] = m[i]
	}
	return rows
}

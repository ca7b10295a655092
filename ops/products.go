package ops

import G "gorgonia.org/gorgonia"

// DenseProduct is the size of a dense product op(A)·op(B): op(A) is M×K and
// op(B) K×N, op(X) being X or, where its flag is set, Xᵀ.
type DenseProduct struct {
	TransA, TransB bool
	M, N, K        int
}

// DenseProducts returns the dense products that nodes, those of them that
// MatMul and Affine and their gradients made, computed when they last ran: what
// a benchmark repeats to learn the least time that a step could take. Nodes
// that have not run are left out.
func DenseProducts(nodes G.Nodes) []DenseProduct {
	var products []DenseProduct
	for _, n := range nodes {
		op, ok := n.Op().(*product)
		if ok && op.last.K > 0 {
			products = append(products, op.last)
		}
	}
	return products
}

package layers

import G "gorgonia.org/gorgonia"

// Norm normalises a matrix and keeps its shape. LayerNorm and BatchNorm are Norms.
type Norm interface {
	// Forward maps x, of shape (n, width), to the same shape.
	Forward(x *G.Node) (*G.Node, error)

	// Parameters returns the tensors that training changes.
	Parameters() G.Nodes
}

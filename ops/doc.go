// Package ops adds to Gorgonia the differentiable operations of a graph convolutional
// network over sampled blocks: sparse propagation, and dense operations that Gorgonia
// lacks, computes wrongly, or runs only with the sizes of compilation.
//
//	samplers ─▶ Batch ──set──▶ Slot, Targets, Mode
//	                                 │ read at every run
//	                                 ▼
//	graph.Features ─▶ Features ─▶ Propagate ─▶ Affine ─▶ Activate ─▶ … ─▶ Loss
//	                  └─────────── one expression graph, compiled once ───────┘
//
// # Slots
//
// An expression graph is built over slots. A Slot holds the block that a layer
// propagates over, Targets hold the labels and weights of the loss, and Mode holds the
// seed of the dropouts. A step sets the next batch and runs the graph:
//
//	slot.Set(block); targets.Set(nodes, nil); mode.Seed = step
//	machine.RunAll()
//	… read loss.Value(), and the values of the nodes from G.Grad …
//	machine.Reset()
//
// The machine in this example is Gorgonia's TapeMachine. Without Reset, its RunAll gives
// the old values again. Package train has an executor of its own: it plans the graph
// once, so that values share memory, and runs the plan on the CPU or on a GPU.
//
// Batches of any size run through one compiled graph. They give the same bits as a
// graph compiled for their size. The shapes of nodes are nominal: they must fit
// together when the graph is built, but do not limit a batch.
//
// In Gorgonia's machines each op owns the memory of its output: the value of a node is
// valid until the next run. An op belongs to one graph. A graph belongs to one of these
// machines and one goroutine at a time. Runs of a plan may work side by side over one
// graph, if each has its own batch: see Slot.For and Targets.For.
//
// # Adding an op
//
// An op embeds base and implements plan.Op in one file: Compute for the CPU and a GPU, and the field
// memory if it differs from base's. A gradient is a method of the op, and differentiate makes a node
// of it: see base.backward. A run keeps its data in plan.StateOf, not in the op's fields. The tests
// fail until TestGradients has an expression with the op. TestGradients compares the gradient on
// each backend, and detects a wrong memory.
//
// # Between plain Gorgonia nodes
//
// These plain Gorgonia nodes run with any number of rows: Add, Sub, HadamardProd and
// HadamardDiv of two nodes or of a node and a scalar; Mul by a scalar; Tanh, Sigmoid,
// Exp, Square, Cube, Neg, Abs, Softplus, Log1p, Rectify, LeakyRelu; comparisons; Concat
// along the columns; Transpose of a weight. They allocate their result in every run.
// Parameters and the scalar loss have fixed shapes, so any node may follow them.
//
// Package train also runs these with any number of rows: Mul of matrices, BroadcastAdd,
// Slice of columns, and Sum and Mean with their gradients. Gorgonia's TapeMachine returns
// an error for a batch of another size; MatMul, Affine and Sum of this package run on both.
//
// Reshape fixes the number of rows, and Let on a matrix node checks it (use Features).
// Constants are scalars: a matrix of constants is a node of gorgonia.NewMatrix with
// WithShape and WithValue, which is not among the parameters.
//
// In Gorgonia v0.9.18 these nodes give wrong numbers: Dropout (the gradient is divided by
// p in place of 1−p), SoftMax and LogSoftMax (they overflow if the rows' magnitudes
// differ), and the initialiser GlorotU (it draws from a normal distribution). Gorgonia's
// random initialisers, such as GlorotN, take no seed, so each process draws other values.
// Tests here tell when that changes. Use Dropout and Loss of this package, and the
// initialisers of package layers.
//
// # Gradients
//
// Every op with a gradient implements Gorgonia's symbolic differentiation, for
// gorgonia.Grad. There are no second derivatives. A backward op reads data of its
// forward op from memory that only the two share. A node that depends on features alone
// is a constant, and gets no gradient.
//
// # A loss of one's own
//
// TargetLabels and TargetWeights are nodes with the labels of the batch's output nodes and
// their weights in the loss. A sum over the product of TargetWeights and a loss of each entry
// is a loss that weights the batch as Loss does:
//
//	y, err := ops.TargetLabels(g, targets, rows)     // (nodes, classes)
//	w, err := ops.TargetWeights(g, targets, rows)    // the same shape
//	e, err := gorgonia.Sub(softplus(z), product(y, z))
//	loss, err := ops.Sum(product(w, e))
//
// # On a GPU
//
// In a build with the tag cuda, OpenDevice returns the GPU for a model. The graph is
// built in the same way. Values, features, parameters and histories then lie on the
// device. Plain Gorgonia nodes run on the host: the results are right, but the host
// waits for their inputs.
//
// In such a build Gorgonia's own TapeMachine returns an error for plain elementwise nodes,
// products and reshapes, which its CUDA engine would compute; package train runs them.
//
// # Reproducibility
//
// Values and products are float32. The loss, the moments of norms and the gradients of
// biases are summed in float64. Results have the same bits for any number of cores.
package ops

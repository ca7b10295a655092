// Package ops extends Gorgonia by the differentiable operations of a graph
// convolutional network over sampled blocks: sparse propagation, and the dense
// operations that Gorgonia lacks, gets wrong, or ties to the sizes of the graph's
// construction.
//
//	samplers ─▶ Batch ──set──▶ Slot, Targets, Mode
//	                                 │ read at every run
//	                                 ▼
//	graph.Features ─▶ Features ─▶ Propagate ─▶ Affine ─▶ Activate ─▶ … ─▶ Loss
//	                  └─────────── one expression graph, compiled once ───────┘
//
// # Slots
//
// An expression graph is built over slots. Slot carries the block that a layer
// propagates over, Targets the labels and weights of the loss, Mode the seed of
// the dropouts. A step sets the next batch into them and runs the graph:
//
//	slot.Set(block); targets.Set(nodes, nil); mode.Seed = step
//	machine.RunAll()
//	… read loss.Value() and the values of the nodes that G.Grad returned …
//	machine.Reset()
//
// Here the machine is Gorgonia's TapeMachine; without Reset, RunAll gives the old
// values again. Package train does not use it on the CPU: it plans the graph once
// and runs the ops in the plan's order, so that values share memory. Batches of any
// size run through one compiled graph, and give the bits that a graph compiled for
// their sizes would give. Shapes of nodes are nominal: they are checked against
// each other when the graph is built, and set no limit later.
//
// Under Gorgonia's machines each op owns the memory of its output and writes it in
// every run: the value of a node is good until the next run. An op belongs to one
// graph, and its graph to one machine and one goroutine at a time.
//
// # Adding an op
//
// An op embeds base and implements plan.Op in one file: Do and Compute for the CPU,
// Place for a GPU, Memory for the memory that it uses. apply takes nothing less, so
// the compiler asks for all of them. A test fails as long as TestGradients has no
// expression with the op; it compares the gradient on each back end, and finds a
// wrong Memory.
//
// # Between plain Gorgonia nodes
//
// Plain elementwise nodes between ours run with any number of rows: Add, Sub,
// HadamardProd, HadamardDiv of two nodes, all of those with a scalar, Mul by a
// scalar; Tanh, Sigmoid, Exp, Square, Cube, Neg, Abs, Softplus, Log1p, Rectify,
// LeakyRelu; comparisons; Concat along the columns; Transpose of a weight.
// They allocate their result in every run. Anything at all may be done to
// parameters, whose shapes do not change, and to the scalar loss.
//
// Some nodes fix the number of rows when the graph is built and fail, with an
// error, on a batch of another size: Mul of matrices (use MatMul),
// BroadcastAdd (use Affine), Sum and Mean through their gradients (use Sum and
// Mean of this package), Slice, Reshape. Let on a matrix node checks its shape
// too: use Features.
//
// Three of Gorgonia's nodes give wrong numbers in v0.9.18, which tests here
// watch: Dropout (its gradient is divided by p in place of 1−p), SoftMax and
// LogSoftMax (overflow where the rows' sizes differ), and the GlorotU
// initialiser (draws a normal law). Use Dropout and Loss of this package, and
// the initialisers of package layers.
//
// # Gradients
//
// Every op with a gradient implements Gorgonia's symbolic differentiation, so
// gorgonia.Grad is all there is to call; there are no second derivatives. What
// a backward op needs of its forward op, it reads from memory that only the
// two share. No product is built towards a node that no gradient can be
// wanted of: one that depends on features alone.
//
// # On a GPU
//
// OpenDevice gives the GPU of a build with the tag cuda, for package train to plan
// a model for; graphs are built as ever. Values then lie on the device, as do
// features, parameters and histories, and batches of any size run there too. Plain
// nodes of Gorgonia between ours compute on the host. That is right for any of
// them, but the host waits for their inputs.
//
// In such a build Gorgonia's own TapeMachine computes plain nodes on the CPU too, but
// only in the sizes that the graph was compiled for; package train takes any size.
//
// # Reproducibility
//
// Values are float32; sums over rows are formed in float64. Results are the
// same bits for any number of cores.
package ops

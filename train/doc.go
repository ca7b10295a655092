// Package train fits a model to a data set: workers sample batches ahead, a compiled
// program computes gradients, Adam updates the parameters. It stops early and writes
// checkpoints.
//
//	datasets.Data ─▶ Stream ─▶ Loader ─▶ Program ─▶ Adam ─▶ parameters
//	                 samplers,  in order,  loss and    │         │
//	                 on workers  reused    gradients   └─ every EvalEvery batches:
//	                                                      full-neighbour scores,
//	                                                      metrics.jsonl, *.ckpt
//
// Fit does all of this; the parts are exported for programs with a loop of their
// own. The package knows no sampling method by name, and no model by shape: a Model is
// a batch, a loss and logits, with any expression graph between them.
//
// # Randomness
//
// A batch is a function of (seed, epoch, number in the epoch) alone, and every
// parallel sum has a fixed order. So equal seeds give equal bits for any number of
// workers and cores, also if a run was interrupted and resumed.
//
// # On a GPU
//
// If Model.Device names a GPU, it holds the parameters, the gradients, Adam's moments
// and the model's state. Steps are queued: a batch is copied to the GPU during the step
// before it, and losses are copied back every 64 steps, for an evaluation or for a
// checkpoint. Equal seeds give equal bits there too; they differ from the CPU's bits
// by rounding.
//
// # A run's folder
//
//	config.json     Fit's settings and the caller's, compared on resume
//	metrics.jsonl   one JSON object per evaluation
//	last.ckpt       the state to resume from: parameters, Adam's moments, counters,
//	                evaluations, and the best parameters so far; a safetensors file,
//	                as is the next
//	best.ckpt       parameters of the best validation score
//	result.json     the outcome of a run that is done
//
// Every file but metrics.jsonl is replaced whole, and last.ckpt holds the evaluations so far: a
// resumed run writes metrics.jsonl anew. A run that crashed at any moment therefore resumes
// to the same result. The folder is locked during the run: two processes never train in one
// folder. A run whose folder is moved fails, and can be resumed at its new place.
//
// # Several processes
//
// With Options.Group the ranks of an MPI launcher share the mini-batches of each update, and
// with Options.Partition the data too. Fit starts no processes.
package train

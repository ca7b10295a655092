// Package train fits a model to a data set: batches sampled ahead, one compiled
// program, Adam, early stopping, checkpoints.
//
//	datasets.Data ─▶ Stream ─▶ Loader ─▶ Program ─▶ Adam ─▶ parameters
//	                 samplers,  in order,  loss and    │         │
//	                 on workers  reused    gradients   └─ every EvalEvery batches:
//	                                                      full-neighbour scores,
//	                                                      metrics.jsonl, *.ckpt
//
// Fit does all of it; the parts are there for programs that want another loop.
// Nothing here knows the name of a sampling method or the shape of a model: a
// Model is a batch, a loss and logits, whatever expression graph lies between.
//
// # Randomness
//
// Batch number k is a function of (seed, epoch, batch of the epoch) and nothing
// else, workers only draw ahead, and every parallel sum has a fixed order. So
// equal seeds give equal bits for any number of workers and cores, and for a run
// that was interrupted and resumed.
//
// # On a GPU
//
// Model.Device names a GPU. Steps are then queued, not waited for: parameters,
// gradients, Adam's moments and the model's state live there, a batch goes over
// while the step before it computes, and losses come back every 64 steps, for an
// evaluation or for a checkpoint. Equal seeds give equal bits there too, which differ from the CPU's by
// rounding.
//
// # A run's folder
//
//	config.json     Fit's settings and the caller's, compared on resume
//	metrics.jsonl   one JSON object an evaluation
//	last.ckpt       where to resume: parameters, Adam's moments, counters, and the
//	                best parameters so far
//	best.ckpt       parameters of the best validation score
//	result.json     the outcome, once there is one
//
// Every file but metrics.jsonl is replaced in one step, and last.ckpt says how
// much of metrics.jsonl belongs to it, so that a crash at any moment leaves a
// folder that resumes to the same result. The folder is held open and locked: two
// processes never train in one, and one that is moved takes its run along.
//
// # Out of scope
//
// Training on several machines needs two things from here, and both are in
// place: gradients are one flat slice that can be averaged between Program.Step
// and Adam.Step, and a Stream gives each rank its share of the batches. Fit
// itself runs on one machine.
package train

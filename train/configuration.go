package train

import (
	"fmt"
	"maps"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
)

// configuration returns the contents of config.json. Its names are the flags' names, and
// 0 has the same meaning as in a flag.
func (r *run) configuration() (config map[string]any, err error) {
	o := r.options
	limit := func(n int) int {
		if n == Unlimited || n == OnePass {
			return 0
		}
		return n
	}
	config = map[string]any{
		"batch": o.Batch, "batches_per_epoch": limit(o.BatchesPerEpoch), "micro": o.Micro,
		"max_batches": limit(o.MaxBatches), "epochs": limit(o.Epochs), "patience": limit(o.Patience),
		"eval_every": o.EvalEvery, "eval_samples": o.EvalSamples, "seed": o.Seed,
		"lr": o.Adam.LR, "beta1": o.Adam.Beta1, "beta2": o.Adam.Beta2, "epsilon": o.Adam.Epsilon,
		"weight_decay": o.Adam.WeightDecay, "decoupled_decay": o.Adam.DecoupledDecay, "clip": o.Adam.Clip, "edge_dropout": o.EdgeDropout, "schedule": o.Schedule.String(),
		"seeds": seedNames[o.Seeds], "seeds_every": o.SeedsEvery,
	}
	if r.model.Refresher != nil {
		config["control_every"] = o.ControlEvery
	}
	derived := derivedConfiguration(r.program.params, r.data, r.fingerprint())
	derived["sampler"] = fmt.Sprintf("%T", r.stream.Sampler) // its parts follow from the method, in Config
	if s, is := r.stream.Sampler.(layers.Sized); is {
		derived["sampler"] = fmt.Sprintf("%T %d", s, s.NominalSizes())
	}
	if o.Schedule.Cosine {
		derived["schedule_end"], _ = r.end()
	}
	return withConfig(config, o.Config, derived)
}

// fingerprint returns the fingerprint of the data, of the whole if ranks hold parts of it.
func (r *run) fingerprint() string {
	if p := r.options.Partition; p != nil {
		return p.Fingerprint
	}
	return Fingerprint(r.data)
}

// derivedConfiguration returns the fields of config.json that follow from the model and the
// data, which have the given fingerprint.
func derivedConfiguration(params []parameter, d *datasets.Data, fingerprint string) map[string]any {
	shapes := make([]string, len(params))
	for k, p := range params {
		shapes[k] = fmt.Sprintf("%s %v", p.Name, p.Shape)
	}
	config := map[string]any{rundir.SchemaField: rundir.Schema, "parameters": strings.Join(shapes, ", "), "metric": string(d.Metric), "fingerprint": fingerprint}
	if y := d.Labels; y.Tasks > 0 {
		config["tasks"] = y.Tasks
	} else {
		config["classes"] = y.Classes
	}
	return config
}

// withConfig adds the caller's fields to config, or puts them in the place of Fit's own, and
// then the derived fields, which a caller cannot give.
func withConfig(config, more, derived map[string]any) (map[string]any, error) {
	maps.Copy(config, more)
	for name, v := range derived {
		if _, taken := config[name]; taken {
			return nil, fmt.Errorf("train: field %q of Options.Config is one of Fit's own", name)
		}
		config[name] = v
	}
	config, err := rundir.ThroughJSON(config)
	return config, named(err)
}

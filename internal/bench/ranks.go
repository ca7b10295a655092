package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// RankCosts are the constants of a model of the time that K ranks take. An update of M
// mini-batches takes, with d bytes of gradients,
//
//	⌈M/K⌉·BatchMS + UpdateMS + 2·exchange(d·(K−1)/K),
//
// and an evaluation EvalMS/K + EvalGathers·exchange(EvalBytes/EvalGathers·(K−1)/K). An
// exchange takes the latency of the network, MessageUS for each other rank, and its bytes
// over the bandwidth. The model knows no contention: each rank has its own cores and its own
// link, and all ranks are equally fast.
type RankCosts struct {
	BatchMS       float64 `json:"batch_ms"`  // a mini-batch: sampling, forward, backward, and the sum of its gradient
	UpdateMS      float64 `json:"update_ms"` // the optimiser, which each rank runs
	EvalMS        float64 `json:"eval_ms"`   // an evaluation by one process
	GradientBytes int64   `json:"gradient_bytes"`
	EvalBytes     int64   `json:"eval_bytes"` // rows of hidden layers that two ranks exchange in an evaluation, times two
	EvalGathers   int     `json:"eval_gathers"`
}

// Network is a network between ranks.
type Network struct {
	LatencyUS float64 `json:"latency_us"`
	MBPerS    float64 `json:"mb_per_s"`   // that each rank can send, and receive at the same time
	MessageUS float64 `json:"message_us"` // the library's work for a message
}

// exchange returns the milliseconds of an exchange in which a rank sends bytes in all.
func (n Network) exchange(bytes float64, ranks int) float64 {
	if ranks == 1 {
		return 0
	}
	return (n.LatencyUS+n.MessageUS*float64(ranks-1))/1e3 + bytes/n.MBPerS/1e3
}

// Update returns the milliseconds of an update of micro mini-batches.
func (c RankCosts) Update(n Network, micro, ranks int) float64 {
	own := float64((micro + ranks - 1) / ranks)
	return own*c.BatchMS + c.UpdateMS + c.Communication(n, ranks)
}

// Communication returns the milliseconds of an update's two exchanges.
func (c RankCosts) Communication(n Network, ranks int) float64 {
	return 2 * n.exchange(sent(c.GradientBytes, ranks), ranks)
}

// Eval returns the milliseconds of an evaluation.
func (c RankCosts) Eval(n Network, ranks int) float64 {
	ms := c.EvalMS / float64(ranks)
	if c.EvalGathers > 0 {
		ms += float64(c.EvalGathers) * n.exchange(sent(c.EvalBytes, ranks)/float64(c.EvalGathers), ranks)
	}
	return ms
}

// sent returns the bytes that each rank sends so that all have all bytes.
func sent(bytes int64, ranks int) float64 {
	return float64(bytes) * float64(ranks-1) / float64(ranks)
}

// RankPrediction is the model's time for a number of ranks. With more ranks than mini-batches
// an update, which cannot train, only the communication, the evaluation and Weak are set.
type RankPrediction struct {
	Ranks    int     `json:"ranks"`
	UpdateMS float64 `json:"update_ms,omitempty"`
	CommMS   float64 `json:"comm_ms"`
	EvalMS   float64 `json:"eval_ms"`
	Updates  float64 `json:"updates_speedup,omitempty"` // updates a second, over one process
	SpeedUp  float64 `json:"speedup,omitempty"`         // with the evaluations
	Weak     float64 `json:"weak_efficiency"`           // with Micro times Ranks mini-batches an update: time of one process with Micro, over this
}

// Predict returns the model's times for micro mini-batches an update, and an evaluation
// every evalEvery updates.
func (c RankCosts) Predict(n Network, micro, evalEvery int, ranks []int) []RankPrediction {
	var all []RankPrediction
	alone := c.Update(n, micro, 1)
	for _, k := range ranks {
		p := RankPrediction{Ranks: k, CommMS: c.Communication(n, k), EvalMS: c.Eval(n, k)}
		if k <= micro {
			p.UpdateMS = c.Update(n, micro, k)
			p.Updates = alone / p.UpdateMS
			p.SpeedUp = (float64(evalEvery)*alone + c.EvalMS) / (float64(evalEvery)*p.UpdateMS + p.EvalMS)
		}
		p.Weak = alone / c.Update(n, micro*k, k)
		all = append(all, p)
	}
	return all
}

// RanksReport holds the measurements of Ranks.
type RanksReport struct {
	RankCosts
	Micro   int `json:"micro"`
	Updates int `json:"updates"`

	AloneMS float64 `json:"alone_ms"` // an update by one process

	// With more than one rank.
	Ranks        int      `json:"ranks"`
	Network      *Network `json:"network,omitempty"`        // of the ranks
	SharedMS     float64  `json:"shared_ms,omitempty"`      // an update by all ranks
	CommMS       float64  `json:"comm_ms,omitempty"`        // of it, in sums over the ranks, waiting included
	Imbalance    float64  `json:"imbalance,omitempty"`      // as in a run's result
	SharedEvalMS float64  `json:"shared_eval_ms,omitempty"` // an evaluation by all ranks
}

// RanksOptions configures Ranks.
type RanksOptions struct {
	Micro   int // mini-batches of an update
	Updates int // to time, at a time
	Batch   int // training nodes a mini-batch
	Seed    uint64
	Group   train.Group // nil: this process alone
}

// passes is the number of measurements of each way of training, in turn. The median counts:
// another load on the machine may spoil a pass.
const passes = 3

// Ranks measures the constants of the model, and on several ranks also an update and an
// evaluation that they share. The passes change m's parameters. On several ranks each
// measures alone at the same time, so they share a machine's memory in both.
func Ranks(ctx context.Context, m train.Model, d *datasets.Data, o RanksOptions) (RanksReport, error) {
	r := RanksReport{Micro: o.Micro, Updates: o.Updates, Ranks: 1}
	if o.Group != nil {
		r.Ranks = o.Group.Size()
	}
	if r.Ranks > o.Micro {
		return r, fmt.Errorf("bench: %d ranks and %d mini-batches an update: want at least one for each", r.Ranks, o.Micro)
	}
	// Without validation and test nodes Fit only trains.
	training := &datasets.Data{
		Name: d.Name, Graph: d.Graph, Features: d.Features, Labels: d.Labels, Metric: d.Metric,
		Split: datasets.Split{Train: d.Split.Train},
	}
	var alone, shared, comm, imbalance []float64
	parameters, groups := 0, []train.Group{nil}
	if r.Ranks > 1 {
		groups = append(groups, o.Group)
	}
	for range passes {
		for _, group := range groups {
			result, err := train.Fit(ctx, m, training, train.Options{
				Batch: o.Batch, Micro: o.Micro, MaxBatches: o.Updates, EvalEvery: o.Updates, Patience: train.Unlimited, Seed: o.Seed, Group: group,
			})
			if err != nil {
				return r, err
			}
			parameters = result.Parameters
			ms := result.TrainMS + result.WaitMS + result.CommMS
			if group == nil {
				alone = append(alone, ms)
				continue
			}
			shared, comm, imbalance = append(shared, ms), append(comm, result.CommMS), append(imbalance, result.Imbalance)
		}
	}
	r.AloneMS = study.Median(alone)
	r.GradientBytes = 4 * int64(parameters+1)
	var err error
	if r.UpdateMS, err = optimiserMS(parameters); err != nil {
		return r, err
	}
	r.BatchMS = max(r.AloneMS-r.UpdateMS, 0) / float64(o.Micro)
	parts := m.Parts()
	nodes := d.Split.Valid
	if len(nodes) == 0 {
		nodes = d.Split.Train
	}
	if r.EvalMS, err = predictMS(ctx, m, d, nodes); err != nil {
		return r, err
	}
	counter := new(gatherCounter)
	parts.Ranks = counter
	_, err = train.Predict(ctx, m, d, nodes)
	parts.Ranks = nil
	if err != nil {
		return r, err
	}
	r.EvalBytes, r.EvalGathers = counter.bytes, counter.gathers
	if r.Ranks == 1 {
		return r, nil
	}
	r.SharedMS, r.CommMS, r.Imbalance = study.Median(shared), study.Median(comm), study.Median(imbalance)
	if r.Network, err = measureNetwork(ctx, o.Group); err != nil {
		return r, err
	}
	parts.Ranks = o.Group
	defer func() { parts.Ranks = nil }()
	r.SharedEvalMS, err = predictMS(ctx, m, d, nodes)
	return r, err
}

// optimiserMS returns the time of a step of Adam.
func optimiserMS(parameters int) (float64, error) {
	params, grads := make([]float32, parameters), make([]float32, parameters)
	var state train.AdamState
	var times []float64
	for range 30 {
		start := time.Now()
		if err := (train.Adam{LR: 0.001}).Step(params, grads, &state); err != nil {
			return 0, err
		}
		times = append(times, milliseconds(time.Since(start)))
	}
	return study.Median(times), nil
}

// predictMS returns the time to score nodes, after a first call that keeps P·X.
func predictMS(ctx context.Context, m train.Model, d *datasets.Data, nodes []int32) (float64, error) {
	var times []float64
	for range passes + 1 {
		start := time.Now()
		if _, err := train.Predict(ctx, m, d, nodes); err != nil {
			return 0, err
		}
		times = append(times, milliseconds(time.Since(start)))
	}
	return study.Median(times[1:]), nil
}

// measureNetwork times exchanges of one value and of 4 MiB to each rank.
func measureNetwork(ctx context.Context, g train.Group) (*Network, error) {
	const large = 1 << 20
	median := func(values, repeats int) (float64, error) {
		send, receive := make([][]float32, g.Size()), make([][]float32, g.Size())
		for rank := range send {
			n := values
			if rank == g.Rank() {
				n = 0
			}
			send[rank], receive[rank] = make([]float32, n), make([]float32, n)
		}
		var times []float64
		for range repeats {
			start := time.Now()
			if err := g.Exchange(ctx, send, receive); err != nil {
				return 0, err
			}
			times = append(times, float64(time.Since(start))/float64(time.Microsecond))
		}
		return study.Median(times), nil
	}
	small, err := median(1, 300)
	if err != nil {
		return nil, err
	}
	big, err := median(large, 20)
	if err != nil {
		return nil, err
	}
	bytes := 4 * large * float64(g.Size()-1)
	return &Network{LatencyUS: small, MBPerS: bytes / max(big-small, 1)}, nil
}

// gatherCounter counts the bytes of an inference that two ranks share, without a second rank.
type gatherCounter struct {
	bytes   int64
	gathers int
}

func (*gatherCounter) Rank() int { return 0 }
func (*gatherCounter) Size() int { return 2 }
func (c *gatherCounter) Exchange(_ context.Context, _, receive [][]float32) error {
	c.gathers++
	c.bytes += 2 * 4 * int64(len(receive[1])) // the model takes (K−1)/K of it
	return nil
}
func (c *gatherCounter) Gather(_ context.Context, parts [][]float32) error {
	c.gathers++
	for _, part := range parts {
		c.bytes += 4 * int64(len(part))
	}
	if len(parts[0]) == len(parts[1]) {
		copy(parts[1], parts[0]) // the ranks compare their work
	}
	return nil
}

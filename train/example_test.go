package train_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// A graph convolutional network of two layers on a small synthetic graph, with
// debiased LADIES sampling.
func Example() {
	ctx := context.Background()
	data, err := datasets.Open(ctx, "synth:demo?nodes=2000", datasets.Options{})
	if err != nil {
		log.Fatal(err)
	}
	batch := layers.NewBatch(gorgonia.NewGraph(), &samplers.LayerWise{
		Laplacian: data.Laplacian(),
		Sizes:     []int{128, 256}, // next to the output first
	})
	gcn, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 32})
	if err != nil {
		log.Fatal(err)
	}
	model := gcn
	history, err := train.Fit(ctx, model, data, train.Options{
		Batch: 128, MaxBatches: 150, Adam: train.Adam{LR: 0.01}, Seed: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("batches:", history.Batches)
	fmt.Println("far better than chance:", history.Test > 5/float64(data.Labels.Classes))
	// Output:
	// batches: 150
	// far better than chance: true
}

// A graph in memory, without files: 400 users of two teams, who mostly know users of their
// team. The model answers for a user of the graph, and for one who came later.
func Example_ownGraph() {
	const users = 400
	rng := rand.New(rand.NewPCG(1, 2))
	builder, err := graph.NewBuilder(users) // an undirected graph
	if err != nil {
		log.Fatal(err)
	}
	for range 3000 {
		if u, v := rng.Int32N(users), rng.Int32N(users); u%2 == v%2 || rng.IntN(4) == 0 {
			if err := builder.Add(u, v); err != nil { // AddWeighted, for edges with weights
				log.Fatal(err)
			}
		}
	}
	data := &datasets.Data{
		Name:     "users",
		Features: &graph.Features{Rows: users, Cols: 3, Data: make([]float32, users*3)}, // row by row
		Labels:   &graph.Labels{Classes: 2, Class: make([]int32, users), Names: []string{"blue", "red"}},
		Metric:   datasets.Accuracy,
	}
	data.Graph, data.Report = builder.Build()
	for user := range int32(users) {
		team := user % 2
		data.Labels.Class[user] = team // −1: not known
		for k := range 3 {
			data.Features.Data[user*3+int32(k)] = float32(rng.NormFloat64()) + float32(team)
		}
	}
	for k, user := range rng.Perm(users) {
		part := []*[]int32{&data.Split.Train, &data.Split.Train, &data.Split.Valid, &data.Split.Test}[k%4]
		*part = append(*part, int32(user))
	}
	if err := data.Validate(); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	p := data.Laplacian()
	batch := layers.NewBatch(gorgonia.NewGraph(), &samplers.LayerWise{Laplacian: p, Sizes: []int{64, 128}})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 16})
	if err != nil {
		log.Fatal(err)
	}
	// With Dir in the options the run is kept in a folder, which run.Open opens.
	if _, err := train.Fit(ctx, model, data, train.Options{Batch: 64, MaxBatches: 100, Adam: train.Adam{LR: 0.01}}); err != nil {
		log.Fatal(err)
	}
	team := func(logits []float32, err error) string {
		if err != nil {
			log.Fatal(err)
		}
		return data.Labels.Name(slices.Index(logits, slices.Max(logits)))
	}
	fmt.Println("user 7:", team(model.Infer(ctx, p, data.Features, []int32{7})))
	// A user who comes later, with the users that they know.
	overlay, err := graph.NewOverlay(p, data.Features)
	if err != nil {
		log.Fatal(err)
	}
	later := int32(overlay.Nodes())
	if overlay, err = overlay.With([]float32{0.1, -0.3, 0.2}, []int32{2, 6, 10}, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println("a later user:", team(model.InferOverlay(ctx, overlay, []int32{later})))
	// Output:
	// user 7: red
	// a later user: blue
}

// A program with its own training loop: it uses the parts of Fit, the loader, the
// program and the optimiser.
func ExampleProgram() {
	ctx := context.Background()
	data, err := datasets.Open(ctx, "synth:demo?nodes=2000", datasets.Options{})
	if err != nil {
		log.Fatal(err)
	}
	sampler := &samplers.LayerWise{Laplacian: data.Laplacian(), Sizes: []int{128}}
	batch := layers.NewBatch(gorgonia.NewGraph(), sampler)
	gcn, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 32})
	if err != nil {
		log.Fatal(err)
	}
	program, err := train.NewProgram(gcn)
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	stream := train.Stream{Sampler: sampler, Train: data.Split.Train, BatchSize: 128, Permute: true}
	loader, err := train.NewLoader(ctx, stream, 2, 0, 3*stream.PerEpoch())
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	adam, state := train.Adam{LR: 0.01}, new(train.AdamState)
	var first, last float64
	for {
		item, err := loader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if last, err = program.Step(item.Blocks, item.Dropout); err != nil {
			log.Fatal(err)
		}
		if item.Index == 0 {
			first = last
		}
		if err := adam.Step(program.Parameters(), program.Gradients(), state); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("the loss fell:", last < first)
	// Output:
	// the loss fell: true
}

// A loss of one's own: focal loss (Lin et al. 2017, arXiv:1708.02002) of each class against the
// others, Σ w·(y−σ(z))²·(log(1+exp(z)) − y·z), from the labels y and weights w of the batch.
func Example_ownLoss() {
	ctx := context.Background()
	data, err := datasets.Open(ctx, "synth:demo?nodes=2000", datasets.Options{})
	if err != nil {
		log.Fatal(err)
	}
	batch := layers.NewBatch(gorgonia.NewGraph(), &samplers.LayerWise{Laplacian: data.Laplacian(), Sizes: []int{128, 256}})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 32})
	if err != nil {
		log.Fatal(err)
	}
	z := model.Logits // (nodes, classes), and so are y and w
	y, err := batch.LabelMatrix(data.Labels)
	if err != nil {
		log.Fatal(err)
	}
	w, err := batch.LossWeights(data.Labels)
	if err != nil {
		log.Fatal(err)
	}
	missing := gorgonia.Must(gorgonia.Sub(y, gorgonia.Must(gorgonia.Sigmoid(z))))
	logistic := gorgonia.Must(gorgonia.Sub(gorgonia.Must(gorgonia.Softplus(z)), gorgonia.Must(gorgonia.HadamardProd(y, z))))
	each := gorgonia.Must(gorgonia.HadamardProd(gorgonia.Must(gorgonia.Square(missing)), logistic))
	if model.Loss, err = ops.Sum(gorgonia.Must(gorgonia.HadamardProd(w, each))); err != nil {
		log.Fatal(err)
	}
	history, err := train.Fit(ctx, model, data, train.Options{Batch: 128, MaxBatches: 150, Adam: train.Adam{LR: 0.01}, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("far better than chance:", history.Test > 5/float64(data.Labels.Classes))
	// Output:
	// far better than chance: true
}

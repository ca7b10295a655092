package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/serve"
)

// A server answers about a node, and about the same node after an edge was added.
func Example() {
	data, err := datasets.Open(context.Background(), "synth:demo?nodes=300&edges=900&features=2&classes=3", datasets.Options{})
	if err != nil {
		panic(err)
	}
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: data.Laplacian(), Depth: 2})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 8})
	if err != nil {
		panic(err)
	}
	server, err := serve.New(model, data, serve.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	web := httptest.NewServer(server.Handler())
	defer web.Close()

	probabilities := func() map[string]float64 {
		response, err := http.Get(web.URL + "/nodes/7")
		if err != nil {
			panic(err)
		}
		defer response.Body.Close()
		var answer struct{ Probabilities map[string]float64 }
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			panic(err)
		}
		return answer.Probabilities
	}
	before := probabilities()
	response, err := http.Post(web.URL+"/changes", "application/json", strings.NewReader(`{"add_edges": [[7, 12], [7, 13]]}`))
	if err != nil {
		panic(err)
	}
	response.Body.Close()
	fmt.Println(response.Status, server.Version(), len(before), before["0"] != probabilities()["0"])
	// Output: 200 OK 1 3 true
}

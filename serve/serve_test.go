package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// testData are some small data. Nodes of the edge list have names, and features of a table.
func testData(t testing.TB, named bool) *datasets.Data {
	t.Helper()
	spec := "synth:demo?nodes=400&edges=1600&features=3&classes=4"
	if named {
		dir := t.TempDir()
		var edges, table strings.Builder
		table.WriteString("id,kind,town,age\n")
		for i := range 60 {
			fmt.Fprintf(&edges, "n%d,n/%d\n", i, (i+1)%60)
			fmt.Fprintf(&edges, "n%d,n%d\n", i, (i+7)%60)
			fmt.Fprintf(&table, "n%d,%s,%s,%d\nn/%d,green,Bonn,5\n", i, []string{"red", "blue"}[i%2], []string{"Ulm", "Bonn", "Kiel"}[i%3], i, i)
		}
		for name, text := range map[string]string{"e.csv": "a,b\n" + edges.String(), "n.csv": table.String()} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		spec = "edges:" + dir + "/e.csv?header=1&labels=" + dir + "/n.csv&labels-columns=id,kind&features=" + dir + "/n.csv&features-columns=id,town,age"
	}
	data, err := datasets.Open(context.Background(), spec, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func testModel(t testing.TB, data *datasets.Data) *layers.GCN {
	t.Helper()
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: data.Laplacian(), Depth: 2})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 8, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func testServer(t testing.TB, data *datasets.Data, o Options) (*Server, string) {
	t.Helper()
	return serverOf(t, testModel(t, data), data, o)
}

func serverOf(t testing.TB, model *layers.GCN, data *datasets.Data, o Options) (*Server, string) {
	t.Helper()
	s, err := New(model, data, o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		s.Close()
	})
	return s, web.URL
}

// ask sends a request and returns the status and the body.
func ask(t testing.TB, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// get asks, wants status 200, and decodes the answer.
func get[T any](t testing.TB, method, url, body string) (answer T) {
	t.Helper()
	status, text := ask(t, method, url, body)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&answer); err != nil || status != 200 {
		t.Fatalf("%s %s %s: status %d, %s (%v)", method, url, body, status, text, err)
	}
	return answer
}

type answers struct{ Predictions []prediction }

// TestAnswers compares answers with the model's own inference.
func TestAnswers(t *testing.T) {
	data := testData(t, true)
	s, url := testServer(t, data, Options{})
	logits, err := s.model.Infer(context.Background(), data.Laplacian(), data.Features, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"n5", "n/7", "n59"}
	for k, p := range get[answers](t, "POST", url+"/predict", `{"nodes": ["n5", "n/7", "n59"]}`).Predictions {
		v, err := data.Node(ids[k])
		if err != nil {
			t.Fatal(err)
		}
		row := logits[3*v : 3*v+3]
		best, sum := slices.Index(row, slices.Max(row)), 0.0
		for _, q := range p.Probabilities {
			sum += float64(q)
		}
		if p.Node != ids[k] || p.Class != data.Labels.Name(best) || len(p.Probabilities) != 3 || sum < 1-1e-6 || sum > 1+1e-6 || p.Probabilities[p.Class] < 1.0/3 {
			t.Errorf("%s: %+v of %v", ids[k], p, row)
		}
		one := get[prediction](t, "GET", url+"/nodes/"+ids[k]+"?top=1", "")
		if one.Node != p.Node || one.Class != p.Class || len(one.Probabilities) != 1 || one.Probabilities[p.Class] != p.Probabilities[p.Class] {
			t.Errorf("%s alone: %+v, among others %+v", ids[k], one, p)
		}
	}
	// A node that is stored as a new one gets the answer of the same node unstored.
	fresh := `{"features": {"town": "Kiel", "age": 33}, "neighbors": ["n3", "n/9"]}`
	want := get[answers](t, "POST", url+"/predict", `{"new": [`+fresh+`, `+fresh+`]}`).Predictions
	get[map[string]any](t, "POST", url+"/changes", `{"add_nodes": [{"id": "eve", "features": {"age": 33, "town": "Kiel"}}], "add_edges": [["eve", "n3"], ["n/9", "eve"]]}`)
	got := get[prediction](t, "GET", url+"/nodes/eve", "")
	if len(want) != 2 || want[0].Node != "" || !sameProbabilities(want[0], got) || !sameProbabilities(want[1], got) {
		t.Errorf("stored %+v, unstored %+v", got, want)
	}
}

func sameProbabilities(a, b prediction) bool {
	if len(a.Probabilities) != len(b.Probabilities) || a.Class != b.Class {
		return false
	}
	for name, p := range a.Probabilities {
		if b.Probabilities[name] != p {
			return false
		}
	}
	return true
}

// TestTasks asks for tasks: each has a probability of its own.
func TestTasks(t *testing.T) {
	data, err := datasets.Open(context.Background(), "synth:proteins?nodes=300&edges=1500&features=3&classes=5", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, url := testServer(t, data, Options{})
	p := get[prediction](t, "GET", url+"/nodes/7", "")
	likely := 0
	for _, q := range p.Probabilities {
		if q > 0.5 {
			likely++
		}
	}
	if p.Class != "" || len(p.Probabilities) != data.Labels.Tasks || len(p.Tasks) != likely {
		t.Errorf("%+v", p)
	}
}

// A new node has the features of its degree, and no position.
func TestFeaturesOfTheGraph(t *testing.T) {
	file := filepath.Join(t.TempDir(), "e.csv")
	if err := os.WriteFile(file, []byte("0,1\n1,2\n2,3\n3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".labels", []byte("a\nb\na\nb\na\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"degree", "position"} {
		data, err := datasets.Open(context.Background(), "edges:"+file+"?labels="+file+".labels&features="+how, datasets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, url := testServer(t, data, Options{})
		const made, given = `{"neighbors": [0, 4]}`, `{"features": [1, 1.0986123], "neighbors": [0, 4]}`
		if how == "degree" {
			p := get[answers](t, "POST", url+"/predict", `{"new": [`+made+`, `+given+`]}`).Predictions
			if len(p) != 2 || !sameProbabilities(p[0], p[1]) {
				t.Errorf("%+v", p)
			}
		} else if status, text := ask(t, "POST", url+"/predict", `{"new": [`+made+`]}`); status != 400 || !strings.Contains(text, "train with features=degree") {
			t.Errorf("status %d, %s", status, text)
		}
	}
}

// TestChangesOutliveServer makes changes, ends the server and starts it again: all answers are the
// same, and those of the data with the changes too.
func TestChangesOutliveServer(t *testing.T) {
	for _, named := range []bool{false, true} {
		data := testData(t, named)
		path := filepath.Join(t.TempDir(), LogFile)
		bodies := []string{
			`{"add_nodes": [{"features": [1, 2, 3]}, {"features": [0, 0, 1]}], "add_edges": [[400, 401], [400, 7, 2.5], [3, 4]]}`,
			`{"remove_nodes": [5], "set_features": [{"id": 401, "features": [9, 9, 9]}, {"id": "8", "features": [1, 1, 1]}]}`,
			`{"remove_edges": [[3, 4], [3, 399]]}`,
		}
		if named {
			bodies = []string{
				`{"add_nodes": [{"id": "eve", "features": {"town": "Ulm"}}], "add_edges": [["eve", "n3"]]}`,
				`{"remove_nodes": ["eve", "n5"]}`,
				"{\"add_nodes\": [{\"id\": \"eve\", \"features\": {\"age\": 3}},\n {\"id\": \"7\", \"features\": {}}], \"add_edges\": [[\"n4\", \"eve\"], [7, \"eve\"]]}",
			}
		}
		s, url := testServer(t, data, Options{Log: path})
		for k, body := range bodies {
			if v := get[map[string]any](t, "POST", url+"/changes", body); v["version"] != float64(k+1) {
				t.Errorf("%v", v)
			}
		}
		if _, err := New(s.model, data, Options{Log: path}); err == nil || !strings.Contains(err.Error(), "locked") {
			t.Errorf("two servers with one log: %v", err)
		}
		v := s.now.Load()
		var nodes []int32
		for node := range int32(v.graph.Nodes()) {
			if v.graph.Has(node) {
				nodes = append(nodes, node)
			}
		}
		want, err := s.model.InferOverlay(context.Background(), v.graph, nodes)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if status, text := ask(t, "POST", url+"/changes", bodies[0]); status != 503 {
			t.Errorf("a change of a closed server: %d, %s", status, text)
		}
		again, _ := testServer(t, data, Options{Log: path})
		got, err := again.model.InferOverlay(context.Background(), again.now.Load().graph, nodes)
		if err != nil || again.Version() != 3 || !slices.Equal(got, want) {
			t.Errorf("named %v: version %d after a restart, other scores: %v", named, again.Version(), err)
		}
		changed, err := again.Data()
		if err != nil {
			t.Fatal(err)
		}
		if err := changed.Validate(); err != nil {
			t.Error(err)
		}
		if got, err = again.model.Infer(context.Background(), changed.Laplacian(), changed.Features, nil); err != nil || (!named && !slices.Equal(got, want)) {
			t.Errorf("named %v: the changed data have other scores (%v)", named, err)
		}
		for k, node := range nodes {
			if name := changed.NodeNames.At(k); name != again.name(again.now.Load(), node) {
				t.Fatalf("node %d is called %s, in the data %s", node, again.name(again.now.Load(), node), name)
			}
		}
		store := filepath.Join(t.TempDir(), "changed.safetensors")
		if err := datasets.WriteStore(context.Background(), store, changed); err != nil {
			t.Error(err)
		}
	}
}

// TestMalformedRequests checks their status, and that they change nothing.
func TestMalformedRequests(t *testing.T) {
	data := testData(t, false)
	s, url := testServer(t, data, Options{Body: 1 << 16, Nodes: 10})
	for _, c := range []struct {
		status             int
		method, path, body string
	}{
		{404, "GET", "/nodes/-1", ""}, {404, "GET", "/nodes/400", ""}, {404, "GET", "/nodes/x", ""}, {404, "GET", "/nodes/1e3", ""}, {404, "GET", "/nodes/%00", ""},
		{404, "GET", "/nodes/99999999999999999999", ""}, {404, "GET", "/nodes/7.0", ""}, {404, "GET", "/nodes/0x1", ""}, {400, "GET", "/nodes/7?top=0", ""}, {400, "GET", "/nodes/7?top=x", ""},
		{405, "DELETE", "/nodes/7", ""}, {405, "GET", "/changes", ""}, {404, "GET", "/nowhere", ""},
		{400, "POST", "/predict", ""}, {400, "POST", "/predict", "x"}, {400, "POST", "/predict", "[]"}, {400, "POST", "/predict", "{"}, {400, "POST", "/predict", "{}"}, {400, "POST", "/predict", "null"},
		{400, "POST", "/predict", `{"nodes": [1]} {}`}, {400, "POST", "/predict", `{"nodes": [1], "more": 1}`}, {404, "POST", "/predict", `{"nodes": [1, 400]}`}, {400, "POST", "/predict", `{"nodes": [1.5]}`},
		{400, "POST", "/predict", `{"nodes": [0,1,2,3,4,5,6,7,8,9,10]}`}, {400, "POST", "/predict", `{"new": [{"features": [1]}]}`}, {400, "POST", "/predict", `{"new": [{"features": [1, 2, "3"]}]}`},
		{400, "POST", "/predict", `{"new": [{"features": [1, 2, 1e99]}]}`}, {400, "POST", "/predict", `{"new": [{"features": [1, 2, null]}]}`}, {404, "POST", "/predict", `{"new": [{"features": [1, 2, 3], "neighbors": [400]}]}`},
		{400, "POST", "/predict", `{"new": [{"features": [1, 2, 3], "neighbors": [-1]}]}`}, {400, "POST", "/predict", `{"new": [{"features": [1, 2, 3], "neighbors": [null]}]}`}, {400, "POST", "/predict", `{"new": [{"neighbors": [1]}]}`},
		{400, "POST", "/changes", `{"add_edges": [[1, 1]]}`}, {404, "POST", "/changes", `{"add_edges": [[1, 400]]}`}, {400, "POST", "/changes", `{"add_edges": [[1]]}`}, {400, "POST", "/changes", `{"add_edges": [[1, 2, 0]]}`},
		{400, "POST", "/changes", `{"add_edges": [[1, 2, 3, 4]]}`}, {400, "POST", "/changes", `{"add_nodes": [{"id": 7, "features": [1, 2, 3]}]}`}, {400, "POST", "/changes", `{"add_nodes": [{"id": 400}]}`},
		{404, "POST", "/changes", `{"add_nodes": [{"features": [1, 2, 3]}], "add_edges": [[400, 3]], "remove_nodes": [401]}`}, {404, "POST", "/changes", `{"remove_nodes": ["x"]}`}, {400, "POST", "/changes", `{"remove_nodes": [1, 1]}`},
		{404, "POST", "/changes", `{"set_features": [{"id": 500, "features": [1, 2, 3]}]}`}, {400, "POST", "/changes", `{"add_nodes": {}}`}, {400, "POST", "/changes", `{"Add": 1}`},
		{400, "POST", "/changes", "null"}, {400, "POST", "/changes", `{"remove_nodes": [1], "remove_nodes": [2]}`}, {400, "POST", "/changes", `{"set_features": [{"id": 1, "id": 2, "features": [1, 2, 3]}]}`},
		{400, "POST", "/changes", `{"Remove_nodes": [1]}`}, {400, "POST", "/changes", "{\"remove_nodes\": [\"\xff\"]}"}, {400, "POST", "/changes", `{"add_edges": [[1, 2, null]]}`}, {400, "POST", "/changes", `{"add_edges": [null]}`},
		{400, "POST", "/changes", `{"add_edges": [[1, 2, 1e-60]]}`}, {400, "POST", "/changes", `{"add_edges": [[1, 2, "3"]]}`}, {404, "POST", "/changes", `{"remove_nodes": [4294967297]}`}, {400, "POST", "/changes", `{"remove_nodes": [18446744073709551616]}`},
		{400, "POST", "/changes", `{"set_features": [{"id": 1, "features": [1, 2, NaN]}]}`}, {400, "POST", "/changes", `{"set_features": [{"id": 1, "features": [1, 2, 1e39]}]}`}, {400, "POST", "/changes", `{"set_features": [{"id": 1}]}`},
		{400, "POST", "/changes", strings.Repeat(`{"a":`, 12000)}, {400, "POST", "/predict", `{"nodes": ` + strings.Repeat("[", 20000)},
		{413, "POST", "/changes", `{"remove_nodes": [` + strings.Repeat("1, ", 1<<16) + `1]}`}, {413, "POST", "/predict", strings.Repeat(" ", 1<<17)},
	} {
		if status, text := ask(t, c.method, url+c.path, c.body); status != c.status {
			t.Errorf("%s %s %.80s: status %d, want %d: %s", c.method, c.path, c.body, status, c.status, text)
		} else if strings.Contains(text, "serve.") {
			t.Errorf("%s: a type of Go is in %s", c.body, text)
		}
	}
	late := httptest.NewRecorder()
	if status := respond(late, nil, fmt.Errorf("read tcp 127.0.0.1: %w", os.ErrDeadlineExceeded)); status != 408 || strings.Contains(late.Body.String(), "tcp") {
		t.Errorf("a slow body: %d, %s", status, late.Body)
	}
	if s.Version() != 0 || s.now.Load().graph.Nodes() != 400 {
		t.Error("a refused request has changed the graph")
	}
	for _, path := range []string{"/nodes/7", "/healthz", "/metrics", "/openapi.json"} {
		if status, text := ask(t, "GET", url+path, ""); status != 200 || text == "" {
			t.Errorf("%s afterwards: status %d", path, status)
		}
	}
	if status, text := ask(t, "GET", url+"/", ""); status != 200 || !strings.Contains(text, `"openapi"`) {
		t.Errorf("/: status %d, %s", status, text)
	}
	if _, text := ask(t, "GET", url+"/metrics", ""); !strings.Contains(text, `gcn_requests_total{request="GET /nodes/{id...}",status="404"} 8`) {
		t.Error(text)
	}
}

// TestLargeFeatures gives a node the largest features: it and its neighbours have scores. Larger ones
// are refused.
func TestLargeFeatures(t *testing.T) {
	data := testData(t, false)
	_, url := testServer(t, data, Options{})
	for body, want := range map[string]int{
		`{"set_features": [{"id": 7, "features": [1e17, -1e17, 1e17]}]}`: 200,
		`{"set_features": [{"id": 7, "features": [3e38, 1, 1]}]}`:        400,
		`{"add_nodes": [{"id": 400, "features": [1, 1, -3e38]}]}`:        400,
	} {
		if status, text := ask(t, "POST", url+"/changes", body); status != want || want == 400 && !strings.Contains(text, "want at most 1e18") {
			t.Errorf("%s: status %d, want %d: %s", body, status, want, text)
		}
	}
	if status, text := ask(t, "POST", url+"/predict", `{"new": [{"features": [1, 2e18, 1]}]}`); status != 400 || !strings.Contains(text, "want at most 1e18") {
		t.Errorf("a new node: status %d: %s", status, text)
	}
	for _, node := range append([]int32{7}, data.Graph.Row(7)...) {
		if status, text := ask(t, "GET", fmt.Sprint(url, "/nodes/", node), ""); status != 200 {
			t.Errorf("node %d: status %d: %s", node, status, text)
		}
	}
}

// TestMalformedAtRandom sends bodies with random faults, until 5,000 were refused: there is no
// other status, and only what is answered with 200 changes the graph.
func TestMalformedAtRandom(t *testing.T) {
	s, _ := testServer(t, testData(t, false), Options{Body: 1 << 12, Timeout: time.Minute})
	handler := s.Handler()
	bodies := []string{
		`{"add_nodes": [{"features": [1, 2, 3]}], "add_edges": [[400, 7, 2.5], [3, 4]], "remove_edges": [["5", 6]]}`,
		`{"remove_nodes": [5, "9"], "set_features": [{"id": 40, "features": [9, 9, 9]}, {"id": "8", "features": [1, 1, 1]}]}`,
		`{"nodes": [7, "8"], "new": [{"features": [1, 2, 3], "neighbors": [1, 2]}]}`,
	}
	junk := []string{"null", "-1", "1e99", "NaN", "1.5", `"x"`, "[]", "{}", "2147483648", "9223372036854775808", "[", "}", ",", `"`, "\x00", "\xff", `\ud800`, "true", `"id": 3,`, strings.Repeat("[", 300)}
	var refused, made atomic.Int64
	var group sync.WaitGroup
	for worker := range uint64(4) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(7, worker))
			for refused.Load() < 5000 {
				kind := rng.IntN(len(bodies))
				body := []byte(bodies[kind])
				for range 1 + rng.IntN(3) {
					at := rng.IntN(len(body))
					switch to := at + rng.IntN(min(12, len(body)-at)); rng.IntN(3) {
					case 0:
						body = slices.Replace(body, at, to, []byte(junk[rng.IntN(len(junk))])...)
					case 1:
						body = slices.Delete(body, at, to)
					default:
						body = slices.Insert(body, at, body[at:to]...)
					}
				}
				path := "/changes"
				if kind == 2 {
					path = "/predict"
				}
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, httptest.NewRequest("POST", path, bytes.NewReader(body)))
				switch code := answer.Code; {
				case code == 400 || code == 404 || code == 413:
					refused.Add(1)
				case code != 200 || !json.Valid(answer.Body.Bytes()):
					t.Errorf("%q: status %d, %s", body, code, answer.Body)
					return
				case kind < 2:
					made.Add(1)
				}
			}
		})
	}
	group.Wait()
	t.Log(refused.Load(), "refused,", made.Load(), "changes made")
	if s.Version() != made.Load() {
		t.Errorf("version %d after %d changes", s.Version(), made.Load())
	}
}

// TestMemory makes changes of the same nodes and edges again and again: old versions are freed.
func TestMemory(t *testing.T) {
	s, _ := testServer(t, testData(t, false), Options{})
	handler := s.Handler()
	var early, late runtime.MemStats
	const changes = 500
	for k := range changes {
		if k == changes/10 {
			runtime.GC()
			runtime.ReadMemStats(&early)
		}
		var body []byte
		for v := range 200 {
			body = fmt.Appendf(body, `,[%d,%d]`, v, 200+v)
		}
		body = fmt.Appendf(nil, `{%q: [%s], "set_features": [{"id": 7, "features": [1, 2, %d]}]}`, []string{"add_edges", "remove_edges"}[k%2], body[1:], k)
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, httptest.NewRequest("POST", "/changes", bytes.NewReader(body))); answer.Code != 200 {
			t.Fatal(answer.Body)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&late)
	if grown := int64(late.HeapAlloc) - int64(early.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d changes took %d bytes", changes, grown)
	}
}

// TestErrorsNameIDs checks that an error about a named node has its id, and not its number.
func TestErrorsNameIDs(t *testing.T) {
	_, url := testServer(t, testData(t, true), Options{})
	for body, want := range map[string]string{
		`{"add_edges": [["n3", "n3"]]}`:                                   `["n3", "n3"]`,
		`{"remove_edges": [["n3", "n3"]]}`:                                `["n3", "n3"]`,
		`{"add_edges": [["n3", "n4", -1]]}`:                               `["n3", "n4", -1]`,
		`{"add_edges": [["n3", "nobody"]]}`:                               `"nobody"`,
		`{"remove_nodes": ["n3", "n4", "n3"]}`:                            `"n3"`,
		`{"add_nodes": [{"id": "n3", "features": {}}]}`:                   `"n3"`,
		`{"set_features": [{"id": "n3", "features": {"age": "old"}}]}`:    `"n3"`,
		`{"set_features": [{"id": "n3", "features": {"nothing": true}}]}`: `"n3"`,
	} {
		status, text := ask(t, "POST", url+"/changes", body)
		var answer struct{ Error string }
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status < 400 || status > 499 || !strings.Contains(answer.Error, want) {
			t.Errorf("%s: status %d, %s (%v), want %s in it", body, status, text, err, want)
		}
	}
}

// TestOpenAPI checks that the description has every path and the fields of the bodies.
func TestOpenAPI(t *testing.T) {
	var api struct {
		Paths      map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	text, err := openAPI.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/nodes/{id}", "/predict", "/changes", "/healthz", "/metrics", "/openapi.json"} {
		if api.Paths[path] == nil {
			t.Errorf("no path %s", path)
		}
	}
	for name, of := range map[string]any{"Change": change{}, "Node": nodeChange{}, "Prediction": prediction{Class: "x", Node: "x", Tasks: []string{"x"}}} {
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]any{}
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		for field := range fields {
			if api.Components.Schemas[name].Properties[field] == nil {
				t.Errorf("%s lacks the field %s", name, field)
			}
		}
		if len(fields) != len(api.Components.Schemas[name].Properties) {
			t.Errorf("%s has fields that the program has not", name)
		}
	}
}

// TestLateRequests sends requests that find no worker in time: each gets the status 503.
func TestLateRequests(t *testing.T) {
	s, url := testServer(t, testData(t, false), Options{Timeout: time.Second, Workers: 1})
	s.slots <- struct{}{}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if status, text := ask(t, "GET", url+"/nodes/7", ""); status != 503 || !strings.Contains(text, "not now: too many requests at once") {
				t.Errorf("status %d, %q", status, text)
			}
		})
	}
	group.Wait()
	<-s.slots
	if status, _ := ask(t, "GET", url+"/nodes/7", ""); status != 200 {
		t.Errorf("afterwards: status %d", status)
	}
}

// TestGracefulEnd ends the server while a request is at work: the request is answered.
func TestGracefulEnd(t *testing.T) {
	data := testData(t, false)
	s, err := New(testModel(t, data), data, Options{Workers: 1, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, listener, s.Handler()) }()
	s.slots <- struct{}{} // the request waits
	atWork, status := make(chan struct{}), make(chan int, 1)
	go func() {
		trace := &httptrace.ClientTrace{Got100Continue: func() { close(atWork) }} // the handler reads the body
		request, err := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), "POST",
			"http://"+listener.Addr().String()+"/predict", strings.NewReader(`{"nodes": [7]}`))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Expect", "100-continue")
		response, err := (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}).Do(request)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		response.Body.Close()
		status <- response.StatusCode
	}()
	<-atWork
	cancel()
	<-s.slots
	if code := <-status; code != 200 {
		t.Errorf("status %d", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLogDamaged changes the log: what was not answered is cut off, the rest is an error with its
// place, and the file stays as it is.
func TestLogDamaged(t *testing.T) {
	data := testData(t, false)
	path := filepath.Join(t.TempDir(), LogFile)
	s, url := testServer(t, data, Options{Log: path})
	for k := range 3 {
		get[map[string]any](t, "POST", url+"/changes", fmt.Sprintf(`{"add_edges": [[%d, 300]]}`, k))
	}
	s.Close()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	flipped := slices.Clone(good)
	flipped[len(lines[0])+20] ^= 1
	for _, c := range []struct {
		name    string
		text    []byte
		version int64
		err     string
	}{
		{"whole", good, 3, ""},
		{"cut in the last line", good[:len(good)-5], 2, ""},
		{"without the last line feed", good[:len(good)-1], 2, ""},
		{"cut in the head", good[:10], 0, ""},
		{"empty", nil, 0, ""},
		{"a bit", flipped, 0, ":2: the line is damaged"},
		{"a line lost", join(lines[0], []byte("\n"), lines[1]), 0, ":2: the line is damaged"},
		{"other data", join(record(nil, []byte(`{"schema":1,"nodes":9}`)), lines[1]), 0, ":1: the changes are of other data"},
		{"no change", join(lines[0], record(nil, []byte(`{"add_edges": [[1, 900]]}`))), 0, ":2: add_edges"},
		{"a text", []byte("hello\n"), 0, ":1: the line is damaged"},
	} {
		if err := os.WriteFile(path, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := New(s.model, data, Options{Log: path})
		if err != nil || c.err != "" {
			if err == nil || !strings.Contains(err.Error(), path+c.err) || c.err == "" {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(after, c.text) {
				t.Errorf("%s: the file was changed", c.name)
			}
			continue
		}
		if s.Version() != c.version {
			t.Errorf("%s: version %d, want %d", c.name, s.Version(), c.version)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := New(s.model, data, Options{Log: filepath.Join(path, "x")}); err == nil {
		t.Error("a log below a file")
	}
}

// failingFile is a disk that is full, or whose fsync fails.
type failingFile struct {
	logFile
	full, noSync bool
}

func (f *failingFile) Write(b []byte) (int, error) {
	if f.full {
		n, _ := f.logFile.Write(b[:len(b)/2])
		return n, errors.New("no space left")
	}
	return f.logFile.Write(b)
}

func (f *failingFile) Sync() error {
	if f.noSync {
		return errors.New("input/output error")
	}
	return f.logFile.Sync()
}

// TestLogFails fills the disk: the change is refused, the graph stays, and later changes are taken
// when there is space again. After a failed fsync none is taken.
func TestLogFails(t *testing.T) {
	data := testData(t, true)
	path := filepath.Join(t.TempDir(), LogFile)
	s, url := testServer(t, data, Options{Log: path})
	disk := &failingFile{logFile: s.log.file}
	s.log.file = disk
	add := func(id string) (int, string) {
		return ask(t, "POST", url+"/changes", `{"add_nodes": [{"id": "`+id+`", "features": {}}]}`)
	}
	disk.full = true
	if status, text := add("eve"); status != 503 || !strings.Contains(text, "no space left") || s.Version() != 0 {
		t.Errorf("%d, %s", status, text)
	}
	disk.full = false
	if status, text := add("bob"); status != 200 || s.Version() != 1 {
		t.Errorf("%d, %s", status, text)
	}
	if status, text := ask(t, "GET", url+"/nodes/eve", ""); status != 404 {
		t.Errorf("the node of a failed change: %d, %s", status, text)
	}
	if p := get[prediction](t, "GET", url+"/nodes/bob", ""); p.Node != "bob" {
		t.Errorf("%+v", p)
	}
	disk.noSync = true
	if status, _ := add("tom"); status != 503 || s.Version() != 1 {
		t.Errorf("a failed fsync: %d", status)
	}
	disk.noSync = false
	if status, text := add("tom"); status != 503 || !strings.Contains(text, "start the server again") {
		t.Errorf("after a failed fsync: %d, %s", status, text)
	}
	s.Close()
	again, url := testServer(t, data, Options{Log: path})
	if get[prediction](t, "GET", url+"/nodes/bob", ""); again.Version() < 1 {
		t.Errorf("version %d", again.Version())
	}
}

func TestNewWithoutModelOrData(t *testing.T) {
	data := testData(t, false)
	if _, err := New(nil, data, Options{}); err == nil {
		t.Error("no model was taken")
	}
	for _, none := range []*datasets.Data{nil, {}} {
		if _, err := New(testModel(t, data), none, Options{}); err == nil {
			t.Error("no data were taken")
		}
	}
}

// A change that fails late spoils no change but those made with it.
func TestFailedDraft(t *testing.T) {
	s, _ := testServer(t, testData(t, false), Options{})
	edge := func(u, v nodeID) *change { return &change{AddEdges: []edgeEnds{{u, v, 1}}, text: []byte("{}")} }
	early, late := edge("1", "2"), edge("3", "4")
	wrong := &change{AddNodes: []nodeChange{{values: []float32{1}}}, text: []byte("{}")}
	s.tasks <- early
	s.tasks <- wrong
	if err := s.commit(late); !errors.Is(err, errUnavailable) || !errors.Is(early.err, errUnavailable) || !errors.Is(wrong.err, graph.ErrInvalid) || s.Version() != 0 {
		t.Errorf("errors %v, %v, %v", early.err, wrong.err, err)
	}
	if err := s.commit(edge("3", "4")); err != nil || s.Version() != 1 {
		t.Errorf("afterwards: %v", err)
	}
}

package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/internal/longtest"
)

// childLog is the variable that makes the test's program a server of that log.
const childLog = "GCN_TEST_SERVE_LOG"

// TestChild is the server of TestKills.
func TestChild(t *testing.T) {
	path := os.Getenv(childLog)
	if path == "" {
		t.Skip("this is a part of TestKills")
	}
	data := testData(t, false)
	s, err := New(testModel(t, data), data, Options{Log: path, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("listens: %s\n", listener.Addr())
	t.Fatal(s.Serve(t.Context(), listener, s.Handler()))
}

// TestKills kills a server at random moments while clients change its graph: each change that was
// answered is there after the next start, and no change is there in part.
func TestKills(t *testing.T) {
	kills := 3
	if longtest.Wanted() {
		kills = 200
	}
	data := testData(t, false)
	rng := rand.New(rand.NewPCG(1, 2))
	path, changes := "", 0
	var answered map[int64]string // by version: the first of the two nodes that a change added
	for kill := range kills {
		if kill%20 == 0 { // a new log, so that starts stay short
			path, answered = filepath.Join(t.TempDir(), LogFile), map[int64]string{}
		}
		before := len(answered)
		child := exec.Command(os.Args[0], "-test.run", "^TestChild$")
		child.Env = append(os.Environ(), childLog+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		address := ""
		for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
			address, _ = strings.CutPrefix(lines.Text(), "listens: ")
		}
		var mu sync.Mutex
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				for {
					response, err := http.Post("http://"+address+"/changes", "application/json",
						strings.NewReader(`{"add_nodes": [{"features": [1, 2, 3]}, {"features": [4, 5, 6]}], "set_features": [{"id": 7, "features": [1, 1, 1]}]}`))
					if err != nil {
						return
					}
					var answer struct {
						Version int64
						Added   []string
					}
					err = json.NewDecoder(response.Body).Decode(&answer)
					response.Body.Close()
					if err != nil || len(answer.Added) != 2 {
						return
					}
					mu.Lock()
					answered[answer.Version] = answer.Added[0]
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(20+rng.IntN(200)) * time.Millisecond)
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		clients.Wait()
		http.DefaultClient.CloseIdleConnections()

		s, err := New(testModel(t, data), data, Options{Log: path})
		if err != nil {
			t.Fatal(err)
		}
		v := s.now.Load()
		if n := int64(v.graph.Nodes()); n != 400+2*v.number {
			t.Fatalf("%d nodes after %d changes", n, v.number)
		}
		for version, id := range answered {
			if version > v.number || id != fmt.Sprint(400+2*(version-1)) {
				t.Fatalf("change %d was answered with node %s, and there are %d changes", version, id, v.number)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		changes += len(answered) - before
	}
	if changes == 0 {
		t.Error("no change was answered")
	}
	t.Log(changes, "changes")
}

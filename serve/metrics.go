package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// metrics counts requests for GET /metrics.
type metrics struct {
	changes atomic.Int64

	mu       sync.Mutex
	requests map[request]int64
	times    map[string]*histogram // by pattern
}

type request struct {
	pattern string
	status  int
}

// bounds are upper bounds of a request's time in seconds.
var bounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}

type histogram struct {
	within [len(bounds)]int64 // requests within each bound
	count  int64
	sum    float64
}

// observe counts a request.
func (m *metrics) observe(pattern string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests, m.times = map[request]int64{}, map[string]*histogram{}
	}
	m.requests[request{pattern, status}]++
	h := m.times[pattern]
	if h == nil {
		h = new(histogram)
		m.times[pattern] = h
	}
	for k, bound := range bounds {
		if took.Seconds() <= bound {
			h.within[k]++
		}
	}
	h.count++
	h.sum += took.Seconds()
}

// write writes the metrics in the text format of Prometheus.
func (m *metrics) write(w io.Writer, v *version) {
	var b bytes.Buffer
	for _, gauge := range []struct {
		name, kind, help string
		value            int64
	}{
		{"gcn_version", "gauge", "Changes that requests see.", v.number},
		{"gcn_nodes", "gauge", "Nodes, with removed ones.", int64(v.graph.Nodes())},
		{"gcn_edges", "gauge", "Edges.", v.graph.Edges()},
		{"gcn_changes_total", "counter", "Changes since the start.", m.changes.Load()},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", gauge.name, gauge.help, gauge.name, gauge.kind, gauge.name, gauge.value)
	}
	m.mu.Lock()
	fmt.Fprint(&b, "# HELP gcn_requests_total Requests.\n# TYPE gcn_requests_total counter\n")
	byText := func(a, b request) int {
		return cmp.Or(strings.Compare(a.pattern, b.pattern), cmp.Compare(a.status, b.status))
	}
	for _, r := range slices.SortedFunc(maps.Keys(m.requests), byText) {
		fmt.Fprintf(&b, "gcn_requests_total{request=%q,status=\"%d\"} %d\n", r.pattern, r.status, m.requests[r])
	}
	fmt.Fprint(&b, "# HELP gcn_request_seconds Time of requests.\n# TYPE gcn_request_seconds histogram\n")
	for _, pattern := range slices.Sorted(maps.Keys(m.times)) {
		h := m.times[pattern]
		for k, bound := range bounds {
			fmt.Fprintf(&b, "gcn_request_seconds_bucket{request=%q,le=\"%v\"} %d\n", pattern, bound, h.within[k])
		}
		fmt.Fprintf(&b, "gcn_request_seconds_bucket{request=%q,le=\"+Inf\"} %d\n", pattern, h.count)
		fmt.Fprintf(&b, "gcn_request_seconds_sum{request=%q} %v\ngcn_request_seconds_count{request=%q} %d\n", pattern, h.sum, pattern, h.count)
	}
	m.mu.Unlock()
	w.Write(b.Bytes())
}

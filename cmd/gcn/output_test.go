package main

import (
	"math"
	"strings"
	"testing"
)

func TestPrintText(t *testing.T) {
	type row struct {
		Name string  `json:"name"`
		Loss float64 `json:"final_loss"`
		Few  []int   `json:"few"`
	}
	var b strings.Builder
	err := printText(&b, struct {
		Data   string         `json:"data"`
		Share  float64        `json:"held_share"`
		Bytes  float64        `json:"bytes"`
		None   []string       `json:"none"`
		Sizes  []int          `json:"sizes"`
		Inner  map[string]any `json:"inner"`
		Matrix [][]int        `json:"matrix"`
		Rows   []row          `json:"rows"`
	}{"a\nb\tc", 0.123456, 123456.7, nil, []int{512, 1024}, map[string]any{"best": true, "list": []row{}}, [][]int{{1}}, []row{{"x", math.NaN(), []int{1, 2}}, {"long name", 1e-9, nil}}})
	const want = `data        a\nb\tc
held share  0.1235
bytes       123457
none        –
sizes       512, 1024
inner best  true
inner list  

name       final loss  few
x          –           1, 2
long name  1e-09       –
`
	if got := b.String(); err != nil || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

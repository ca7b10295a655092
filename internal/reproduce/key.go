package reproduce

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/study"
)

// kind is the kind of a cell's result.
type kind string

const (
	describing kind = "data"       // *datasets.Info
	training   kind = "train"      // *trainResult
	regressing kind = "regression" // *regressionResult
	erring     kind = "error"      // *study.ErrorTable
	sampling   kind = "sampling"   // *timeResult
	stepping   kind = "step"       // *timeResult
	scaling    kind = "scaling"    // *scalingResult
	comparing  kind = "figures"    // *[]datasets.Comparison
	featuring  kind = "features"   // *study.FeaturesTable
)

// timed reports whether a cell of this kind holds times, and so depends on the machine and
// its other work.
func (k kind) timed() bool { return k == sampling || k == stepping || k == scaling }

// key names a cell. It has everything that the result depends on but the machine. Fields that
// its kind does not need are zero.
type key struct {
	Kind        kind   `json:"kind"`
	Data        string `json:"data"`                  // SPEC
	Fingerprint string `json:"fingerprint,omitempty"` // of the data: the data of one SPEC may change; "" before they are open
	Method      string `json:"method,omitempty"`
	Samples     []int  `json:"samples,omitempty"`
	Layers      int    `json:"layers,omitempty"`
	Hidden      int    `json:"hidden,omitempty"`
	Batch       int    `json:"batch,omitempty"`
	MaxBatches  int    `json:"max_batches,omitempty"`
	EvalEvery   int    `json:"eval_every,omitempty"`
	Patience    int    `json:"patience,omitempty"`
	Batches     int    `json:"batches,omitempty"` // to time
	Seed        uint64 `json:"seed,omitempty"`

	// Of a cell of errors, beside the training run of W.
	Methods []string `json:"methods,omitempty"`
	Sizes   []int    `json:"sizes,omitempty"`
	Repeats int      `json:"repeats,omitempty"`

	Published *datasets.Published `json:"published,omitempty"` // to compare with
}

// id is a text that only equal keys share.
func (k key) id() string {
	text, err := json.Marshal(k)
	if err != nil {
		return err.Error() // a key holds nothing that JSON lacks
	}
	return string(text)
}

// String describes the cell for a reader.
func (k key) String() string {
	words := []string{string(k.Kind), k.Data}
	if k.Method != "" {
		words = append(words, k.Method)
	}
	if len(k.Samples) > 0 {
		words = append(words, sizesText(k.Samples))
	}
	return strings.Join(words, " ")
}

// likeness lists groups of cells that take about as long, the closest group first.
func (k key) likeness() []string {
	data := string(k.Kind) + " " + k.Data
	return []string{fmt.Sprint(data, " ", k.Method, " ", k.Layers), data, string(k.Kind)}
}

// last orders the cells that take longest after all others.
func (k key) last() int {
	if k.Kind == regressing && k.Method == fullMethod {
		return 1
	}
	return 0
}

// decode reads the result of a cell. It is an error if a number is missing or out of range.
// Scores and times may be NaN.
func decode(of kind, text []byte) (any, error) {
	switch of {
	case describing:
		return decodeAs(text, func(r *datasets.Info) bool { return r.Nodes > 0 })
	case training:
		return decodeAs(text, func(r *trainResult) bool {
			return r.Metric != "" && !(r.Test < 0) && !(r.Test > 1) && len(r.Curve) > 0
		})
	case regressing:
		return decodeAs(text, func(r *regressionResult) bool { return len(r.Layers) > 0 && r.Norms != nil })
	case erring:
		return decodeAs(text, func(r *study.ErrorTable) bool { return len(r.Rows) > 0 })
	case sampling, stepping:
		return decodeAs(text, func(r *timeResult) bool { return r.N > 0 && !(r.Mean <= 0) && !(r.Median <= 0) })
	case scaling: // a small graph has no sizes
		return decodeAs(text, func(r *scalingResult) bool {
			return r.MaxDegree > 0 && len(r.Columns["layers"]) > 0 && len(r.Columns["nodes"]) > 0
		})
	case comparing:
		return decodeAs(text, func(r *[]datasets.Comparison) bool { return len(*r) > 0 })
	case featuring:
		return decodeAs(text, func(r *study.FeaturesTable) bool { return len(r.Rows) > 0 })
	}
	return nil, fmt.Errorf("there is no kind %q of cells", of)
}

func decodeAs[T any](text []byte, complete func(*T) bool) (any, error) {
	result := new(T)
	if err := rundir.JSONError(finite.Unmarshal(text, result)); err != nil {
		return nil, err
	}
	if !complete(result) {
		return nil, errors.New("a number of the result is missing or out of range")
	}
	return result, nil
}

// resultOf returns the result of a cell, or nil if it has none.
func resultOf[T any](r *runner, k key) *T {
	r.asked = append(r.asked, k)
	if one := r.settled[k.id()]; one != nil && one.failed == nil {
		return one.result.(*T)
	}
	return nil
}

// resultsOf returns the results of the cells that have one.
func resultsOf[T any](r *runner, keys []key) []*T {
	var results []*T
	for _, k := range keys {
		if result := resultOf[T](r, k); result != nil {
			results = append(results, result)
		}
	}
	return results
}

// failed returns the error of a cell that is too large for the memory.
func (r *runner) failed(k key) error {
	if one := r.settled[k.id()]; one != nil {
		return one.failed
	}
	return nil
}

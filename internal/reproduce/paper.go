package reproduce

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed paper.json
var paperText []byte

// Numbers holds the paper's numbers that the experiments need. Data sets are named
// reddit, arxiv, mag, proteins, products.
type Numbers struct {
	Source string `json:"source"`

	Datasets        []PaperRow            `json:"datasets"`         // counts, and per cent of the nodes
	Accuracy        []PaperRow            `json:"accuracy"`         // per cent
	FastGCNVariants []PaperRow            `json:"fastgcn_variants"` // per cent
	SamplingTime    []PaperRow            `json:"sampling_time"`    // milliseconds a batch, one layer
	TrainingTime    map[string][]PaperRow `json:"training_time"`    // by number of layers; milliseconds a batch
	Regression      []PaperRegression     `json:"regression"`
}

// PaperRow is one line of a table: a method with its sample sizes, next to the
// output first, and a value for each data set.
type PaperRow struct {
	Label   string                `json:"label"` // as printed
	Method  string                `json:"method"`
	Samples []int                 `json:"samples"`
	Values  map[string]PaperValue `json:"values"`
}

// PaperRegression is one regression of ‖(HW)_[i]‖ on ‖P^[i]‖ or ‖QP^[i]‖.
type PaperRegression struct {
	Label   string     `json:"label"`
	Method  string     `json:"method"`
	On      string     `json:"on"` // "P" or "QP"
	Dataset string     `json:"dataset"`
	Layer   int        `json:"layer"` // from 1
	Beta0   PaperValue `json:"beta0"`
	Beta1   PaperValue `json:"beta1"`
	R2      PaperValue `json:"r2"`
}

// PaperValue is one number as printed.
type PaperValue struct {
	Mean     float64 `json:"mean"`
	PM       float64 `json:"pm,omitempty"`        // after ±; 0 if the paper prints none
	LessThan float64 `json:"less_than,omitempty"` // x if the paper prints "< x" instead of a mean
}

var paper = sync.OnceValues(func() (*Numbers, error) {
	p := new(Numbers)
	if err := json.Unmarshal(paperText, p); err != nil {
		return nil, fmt.Errorf("reproduce: paper.json: %w", err)
	}
	return p, nil
})

// PaperNumbers returns the paper's numbers. Callers share them and must not change
// them.
func PaperNumbers() (*Numbers, error) { return paper() }

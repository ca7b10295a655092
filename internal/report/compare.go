package report

import "github.com/gcn-layerwise/gcn/study"

// Method is the group of runs that differ only in the seed.
type Method struct {
	Name string // method, samples, and other settings in which the groups differ
	Runs int    // without repeated ones

	// Test, BestValid and StepMS are the scores, and the milliseconds of a training step
	// without sampling, over the runs that have them. N is 0 if none has.
	Test, BestValid, StepMS study.Spread

	Sampled bool // the scores of some runs are estimates from a sample of the nodes
}

// Compare groups runs by their settings, in the order of the first run of each group. Of
// runs with the same settings and seed one counts.
func Compare(runs []Run) []Method {
	names, of := groups(runs)
	standIn := repeats(runs, of)
	methods := make([]Method, len(names))
	for k := range runs {
		if standIn[k] < 0 {
			methods[of[k]].Runs++
			methods[of[k]].Sampled = methods[of[k]].Sampled || sampled(runs[k])
		}
	}
	test, valid, step := numbersOf(runs, names, of, standIn, "test"), numbersOf(runs, names, of, standIn, "best_valid"), numbersOf(runs, names, of, standIn, "train_ms_per_batch")
	for g, name := range names {
		m := &methods[g]
		m.Name, m.Test, m.BestValid, m.StepMS = name, study.NewSpread(test[g]), study.NewSpread(valid[g]), study.NewSpread(step[g])
	}
	return methods
}

// numbersOf returns a result of the runs of each group that have it. A run for which another
// stands in does not count.
func numbersOf(runs []Run, names []string, of, standIn []int, field string) [][]float64 {
	values := make([][]float64, len(names))
	for k := range runs {
		if v := runs[k].number(field); standIn[k] < 0 && drawable(v) {
			values[of[k]] = append(values[of[k]], v)
		}
	}
	return values
}

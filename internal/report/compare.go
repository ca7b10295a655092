package report

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/study"
)

// Method is the group of runs that differ only in the seed.
type Method struct {
	Name    string // method, samples, and other settings in which the groups differ
	Runs    int    // without repeated ones
	Repeats int    // runs with the settings and the seed of another one

	// Test, BestValid and StepMS are the scores, and the milliseconds of a training step
	// without sampling, over the runs that have them. N is 0 if none has.
	Test, BestValid, StepMS study.Spread

	Sampled bool // the scores of some runs are estimates from a sample of the nodes

	data   string
	curves [][]Point
}

// Compare groups runs by their settings, in the order of the first run of each group. Of
// runs with the same settings and seed one counts.
func Compare(runs []Run) []Method {
	names, of := groups(runs)
	standIn := repeats(runs, of)
	methods, values := make([]Method, len(names)), make([][3][]float64, len(names))
	for k := range runs {
		r, m := &runs[k], &methods[of[k]]
		m.Name, m.data = names[of[k]], r.text("data")
		if standIn[k] >= 0 {
			m.Repeats++
			continue
		}
		m.Runs++
		m.Sampled = m.Sampled || r.sampled()
		m.curves = append(m.curves, r.Points)
		for i, field := range []string{"test", "best_valid", "train_ms_per_batch"} {
			if v := r.number(field); drawable(v) {
				values[of[k]][i] = append(values[of[k]][i], v)
			}
		}
	}
	for g := range methods {
		m, v := &methods[g], values[g]
		m.Test, m.BestValid, m.StepMS = study.NewSpread(v[0]), study.NewSpread(v[1]), study.NewSpread(v[2])
	}
	return methods
}

// repeats returns, for each run, the number of another run that stands for it, because
// all their settings and the seed are equal, or -1. A finished run stands for others.
func repeats(runs []Run, of []int) []int {
	standIn := make([]int, len(runs))
	for k := range runs {
		standIn[k] = k
		for j := range runs {
			better := j < standIn[k] && (runs[j].Result != nil) == (runs[standIn[k]].Result != nil) || runs[j].Result != nil && runs[standIn[k]].Result == nil
			if better && of[j] == of[k] && runs[k].Config != nil && runs[k].text("seed") != "" && reflect.DeepEqual(runs[j].Config, runs[k].Config) {
				standIn[k] = j
			}
		}
		if standIn[k] == k {
			standIn[k] = -1
		}
	}
	return standIn
}

// A name lists at most mostSettings settings that differ, without those that follow from
// others. The shapes of the parameters, a long text, are in a name only if no other setting
// tells two groups apart.
const (
	mostSettings = 4
	shapes       = "parameters"
)

var unnamed = []string{"seed", "method", "samples", "data", "sampler", "fingerprint", "classes", "tasks", "schedule_end", shapes}

// groups groups runs that differ only in the seed, and names each group by its method,
// samples and the settings that differ between runs. If many settings differ, a name has only
// those in which the group differs from most runs.
func groups(runs []Run) (names []string, of []int) {
	differing := differingSettings(runs)
	named := slices.DeleteFunc(slices.Clone(differing), func(name string) bool { return slices.Contains(unnamed, name) })
	usual := map[string]string{} // value of a setting that is left out
	for _, name := range named {
		if len(named) > mostSettings {
			usual[name] = usualText(runs, name)
		}
	}
	number := map[string]int{}
	for k := range runs {
		r := &runs[k]
		words := []string{r.text("method")}
		if s := r.text("samples"); s != "" {
			words = append(words, s)
		}
		if r.Config == nil {
			words = append(words, r.Name+" (settings not known)")
		}
		for _, name := range named {
			if text := settingText(runs, k, name); r.Config != nil && (len(usual) == 0 || text != usual[name]) {
				words = append(words, settingWords(name, text))
			}
		}
		data, shape := "", ""
		if slices.Contains(differing, "data") && r.text("data") != "" {
			data = r.text("data") + " · "
		}
		if slices.Contains(differing, shapes) {
			shape = " · " + valueText(r.Config[shapes])
		}
		long := data + strings.Join(words, " · ")
		if _, there := number[long+shape]; !there {
			number[long+shape] = len(names)
			if more := len(words) - 2 - mostSettings; more > 1 { // a recipe's settings, as a rule
				words = append(words[:2+mostSettings], fmt.Sprintf("and %d more settings", more))
			}
			for _, name := range []string{data + strings.Join(words, " · "), long, long + shape, r.Name} {
				if name != "" && !slices.Contains(names, name) {
					names = append(names, name)
					break
				}
			}
		}
		of = append(of, number[long+shape])
	}
	return names, of
}

// settingWords names a setting and its value, as a person says it.
func settingWords(name, text string) string {
	name = strings.ReplaceAll(name, "_", " ")
	switch text {
	case "true":
		return name
	case "false":
		return "no " + name
	}
	return name + " " + text
}

// usualText returns the value of a setting that most runs have, of equal numbers the first.
func usualText(runs []Run, name string) (usual string) {
	count := map[string]int{}
	for k := range runs {
		if runs[k].Config != nil {
			count[settingText(runs, k, name)]++
		}
	}
	for k := range runs {
		if text := settingText(runs, k, name); count[text] > count[usual] {
			usual = text
		}
	}
	return usual
}

// settingText writes a setting of run k. A setting that is on in other runs is false in a run
// without it.
func settingText(runs []Run, k int, name string) string {
	v := runs[k].Config[name]
	if v == nil && slices.ContainsFunc(runs, func(r Run) bool { return r.Config[name] == true }) {
		return "false"
	}
	return valueText(v)
}

// differingSettings lists the settings that differ between runs, in alphabetical
// order. Runs without known settings do not count.
func differingSettings(runs []Run) []string {
	values := map[string]map[string]bool{}
	for _, r := range runs {
		for name := range r.Config {
			values[name] = map[string]bool{}
		}
	}
	for name, seen := range values {
		for _, r := range runs {
			if r.Config != nil {
				seen[valueText(r.Config[name])] = true
			}
		}
	}
	maps.DeleteFunc(values, func(_ string, seen map[string]bool) bool { return len(seen) < 2 })
	return slices.Sorted(maps.Keys(values))
}

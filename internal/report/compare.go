package report

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/study"
)

// Method is the group of runs on one data set that differ only in the seed.
type Method struct {
	Name    string // method, samples, and other settings in which the groups differ
	Runs    int    // without repeated ones
	Repeats int    // runs with the settings and the seed of another one

	// Test, BestValid and StepMS are the scores, and the milliseconds of a training step
	// without sampling, over the runs that have them. N is 0 if none has.
	Test, BestValid, StepMS study.Spread

	Sampled bool // the scores of some runs are estimates from a sample of the nodes

	curves [][]Point
}

// Compare groups runs by their settings, data set by data set, in the order of the first run
// of each group. Of runs with the same settings and seed one counts. With several data sets, a
// name begins with its own.
func Compare(runs []Run) []Method {
	var all []Method
	sets := split(runs)
	for _, s := range sets {
		methods := s.methods()
		for k := range methods {
			if len(sets) > 1 && s.data != "" {
				methods[k].Name = s.data + " · " + methods[k].Name
			}
		}
		all = append(all, methods...)
	}
	return all
}

// set holds the runs on one data set, in groups of runs that differ only in the seed.
type set struct {
	data    string
	runs    []Run
	differ  []string // settings that differ between the runs
	names   []string // of the groups
	of      []int    // the group of each run
	standIn []int    // another run that stands for a run, because all their settings are equal, or -1
}

// split splits runs by their data sets, in the order of the first run on each.
func split(runs []Run) []*set {
	var sets []*set
	for _, r := range runs {
		k := slices.IndexFunc(sets, func(s *set) bool { return s.data == r.text("data") })
		if k < 0 {
			k = len(sets)
			sets = append(sets, &set{data: r.text("data")})
		}
		sets[k].runs = append(sets[k].runs, r)
	}
	for _, s := range sets {
		s.differ, _ = settings(s.runs)
		s.group()
		s.findRepeats()
	}
	return sets
}

// settings lists the settings that differ between runs, in alphabetical order, and the names
// and values of the others. Runs without known settings do not count.
func settings(runs []Run) (differ []string, shared [][]string) {
	known := slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.Config == nil })
	names := map[string]bool{}
	for _, r := range known {
		for name := range r.Config {
			names[name] = !rundir.Derived(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		value := valueText(known[0].Config[name])
		switch {
		case !names[name]:
		case slices.ContainsFunc(known, func(r Run) bool { return valueText(r.Config[name]) != value }):
			differ = append(differ, name)
		default:
			shared = append(shared, []string{name, value})
		}
	}
	return differ, shared
}

// mostSettings is the largest number of settings that differ in a name. If more differ, a name
// has those in which the group differs from most runs.
const mostSettings = 4

// group groups the runs, and names each group by its method, samples and the settings that
// differ. Models from Go may differ in the shapes of the parameters alone.
func (s *set) group() {
	named := slices.DeleteFunc(slices.Clone(s.differ), func(name string) bool { return name == "seed" || name == "method" || name == "samples" })
	number := map[string]int{}
	for k := range s.runs {
		r := &s.runs[k]
		words := []string{r.text("method")}
		if samples := r.text("samples"); samples != "" {
			words = append(words, samples)
		}
		if r.Config == nil {
			words = append(words, r.Name+" (settings not known)")
		}
		for _, name := range named {
			if text := s.text(k, name); r.Config != nil && (len(named) <= mostSettings || text != s.usual(name)) {
				words = append(words, settingWords(name, text))
			}
		}
		long := strings.Join(words, " · ")
		shape := long + " · " + valueText(r.Config["parameters"])
		if _, there := number[shape]; !there {
			number[shape] = len(s.names)
			if more := len(words) - 2 - mostSettings; more > 1 { // a recipe's settings, as a rule
				words = append(words[:2+mostSettings], fmt.Sprintf("and %d more settings", more))
			}
			for _, name := range []string{strings.Join(words, " · "), long, shape, r.Name} {
				if name != "" && !slices.Contains(s.names, name) {
					s.names = append(s.names, name)
					break
				}
			}
		}
		s.of = append(s.of, number[shape])
	}
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

// usual returns the value of a setting that most runs have, of equal numbers the first.
func (s *set) usual(name string) (usual string) {
	count := map[string]int{}
	for k := range s.runs {
		if s.runs[k].Config != nil {
			count[s.text(k, name)]++
		}
	}
	for k := range s.runs {
		if text := s.text(k, name); count[text] > count[usual] {
			usual = text
		}
	}
	return usual
}

// text writes a setting of run k. A setting that is on in other runs is false in a run
// without it.
func (s *set) text(k int, name string) string {
	v := s.runs[k].Config[name]
	if v == nil && slices.ContainsFunc(s.runs, func(r Run) bool { return r.Config[name] == true }) {
		return "false"
	}
	return valueText(v)
}

// findRepeats sets standIn. A finished run stands for others.
func (s *set) findRepeats() {
	for k, r := range s.runs {
		best := k
		for j, other := range s.runs {
			better := other.done && !s.runs[best].done || j < best && other.done == s.runs[best].done
			if better && s.of[j] == s.of[k] && r.Config != nil && r.text("seed") != "" && reflect.DeepEqual(other.Config, r.Config) {
				best = j
			}
		}
		if best == k {
			best = -1
		}
		s.standIn = append(s.standIn, best)
	}
}

// methods sums up the runs of each group.
func (s *set) methods() []Method {
	methods, values := make([]Method, len(s.names)), make([][3][]float64, len(s.names))
	for k := range s.runs {
		r, g := &s.runs[k], s.of[k]
		m := &methods[g]
		if s.standIn[k] >= 0 {
			m.Repeats++
			continue
		}
		m.Runs++
		m.Sampled = m.Sampled || r.sampled()
		m.curves = append(m.curves, r.Points)
		for i, field := range []string{"test", "best_valid", "train_ms_per_batch"} {
			if v := r.number(field); math.Abs(v) <= 1e290 { // a chart can show it
				values[g][i] = append(values[g][i], v)
			}
		}
	}
	for g, v := range values {
		m := &methods[g]
		m.Name, m.Test, m.BestValid, m.StepMS = s.names[g], study.NewSpread(v[0]), study.NewSpread(v[1]), study.NewSpread(v[2])
	}
	return methods
}

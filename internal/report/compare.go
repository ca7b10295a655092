package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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

	runs []*Run // without repeated ones
}

// Compare groups runs by their settings, data set by data set, in the order of the first run
// of each group. Of runs with the same settings and seed one counts. With several data sets, a
// name begins with its own.
func Compare(runs []Run) []Method {
	var all []Method
	sets := split(runs)
	for _, s := range sets {
		for _, m := range s.methods {
			if len(sets) > 1 && s.data != "" {
				m.Name = s.data + " · " + m.Name
			}
			all = append(all, *m)
		}
	}
	return all
}

// set holds the runs on one data set with one metric, in groups of runs that differ only in the
// seed.
type set struct {
	data, metric string
	methods      []*Method
	rows         []row
}

// row is a run in the table of runs.
type row struct {
	*Run
	Group int    // its number
	Same  string // the run that counts in its place, or ""
}

// split splits runs by their data sets, in the order of the first run on each.
func split(runs []Run) []*set {
	var sets []*set
	for k := range runs {
		data, metric := runs[k].text("data"), cmp.Or(runs[k].text("metric"), "score")
		at := slices.IndexFunc(sets, func(s *set) bool { return s.data == data && s.metric == metric })
		if at < 0 {
			at = len(sets)
			sets = append(sets, &set{data: data, metric: metric})
		}
		sets[at].rows = append(sets[at].rows, row{Run: &runs[k]})
	}
	for _, s := range sets {
		s.group()
		s.count()
	}
	return sets
}

// settings lists the settings that differ between runs, in alphabetical order, and the names
// and values of the others. Runs without known settings do not count.
func settings(runs []*Run) (differ []string, shared [][]string) {
	known := slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.Config == nil })
	names := map[string]bool{}
	for _, r := range known {
		for name := range r.Config {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return rundir.Derived(name) })
	for _, name := range slices.Sorted(maps.Keys(names)) {
		value := known[0].setting(name)
		if slices.ContainsFunc(known, func(r *Run) bool { return r.setting(name) != value }) {
			differ = append(differ, name)
		} else {
			shared = append(shared, []string{name, value})
		}
	}
	return differ, shared
}

// mostSettings is the largest number of settings that differ in a name. If more differ, a name
// has those in which the group differs from the first run.
const mostSettings = 4

// group groups the runs, and names each group by its method, samples and the settings that
// differ. Models from Go may differ in the shapes of the parameters alone.
func (s *set) group() {
	var runs []*Run
	for _, r := range s.rows {
		runs = append(runs, r.Run)
	}
	differ, _ := settings(runs)
	differ = slices.DeleteFunc(differ, func(name string) bool { return slices.Contains([]string{"seed", "method", "samples"}, name) })
	number := map[string]int{} // by the name and the shapes
	for k, r := range runs {
		words := slices.DeleteFunc([]string{r.text("method"), r.text("samples")}, func(word string) bool { return word == "" })
		if r.Config == nil {
			words = append(words, r.Name+" (settings not known)")
		}
		for _, name := range differ {
			if text := r.setting(name); r.Config != nil && (len(differ) <= mostSettings || text != runs[0].setting(name)) {
				words = append(words, settingWords(name, text))
			}
		}
		name := strings.Join(words, " · ")
		shapes := name + r.setting("parameters")
		if number[shapes] == 0 {
			if slices.ContainsFunc(s.methods, func(m *Method) bool { return m.Name == name }) {
				name += " · " + r.Name
			}
			s.methods = append(s.methods, &Method{Name: name})
			number[shapes] = len(s.methods)
		}
		s.rows[k].Group = number[shapes]
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

// count sums up the runs of each group. Of runs with equal settings the first finished one
// counts, or else the first.
func (s *set) count() {
	counts := map[string]*Run{} // by all settings
	equal := func(r *Run) string {
		if r.Config == nil {
			return r.Name
		}
		return fmt.Sprint(r.Config)
	}
	for _, r := range s.rows {
		if first := counts[equal(r.Run)]; first == nil || r.done && !first.done {
			counts[equal(r.Run)] = r.Run
		}
	}
	for k := range s.rows {
		r := &s.rows[k]
		m := s.methods[r.Group-1]
		if counted := counts[equal(r.Run)]; counted != r.Run {
			r.Same = counted.Name
			m.Repeats++
			continue
		}
		m.Runs++
		m.Sampled = m.Sampled || r.sampled()
		m.runs = append(m.runs, r.Run)
	}
	for _, m := range s.methods {
		for field, spread := range map[string]*study.Spread{"test": &m.Test, "best_valid": &m.BestValid, "train_ms_per_batch": &m.StepMS} {
			var values []float64
			for _, r := range m.runs {
				if v := r.number(field); math.Abs(v) <= 1e290 { // a chart can show it
					values = append(values, v)
				}
			}
			*spread = study.NewSpread(values)
		}
	}
}

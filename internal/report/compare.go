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
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Method is the group of runs on one data set that differ only in the seed.
type Method struct {
	Name    string // method, samples, and other settings in which the groups differ
	Number  int    // among the groups of its data set, from 1
	Runs    []*Run // without repeated ones
	Repeats int    // runs with the settings and the seed of another one

	// Test, BestValid and StepMS are the scores, and the milliseconds of a training step
	// without sampling, over the runs that have them. N is 0 if none has.
	Test, BestValid, StepMS study.Spread

	Sampled bool // the scores of some runs are estimates from a sample of the nodes
}

// Setting writes a setting of the method for a reader.
func (m *Method) Setting(name string) string { return m.Runs[0].setting(name) }

// Colour returns the colour of the method's curves, for a style of the page.
func (m *Method) Colour() string {
	c := figure.Color(m.Number - 1)
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// over returns the spread of a result over the runs that have it.
func (m *Method) over(field string) study.Spread {
	var values []float64
	for _, r := range m.Runs {
		if v := r.number(field); math.Abs(v) <= 1e290 { // a chart can show it
			values = append(values, v)
		}
	}
	return study.NewSpread(values)
}

// Compare groups runs by their settings, data set by data set, in the order of the first run
// of each group. Of runs with the same settings and seed one counts. With several data sets, a
// name begins with its own.
func Compare(runs []*Run) []Method {
	var all []Method
	sets := split(runs)
	for _, s := range sets {
		for _, m := range s.Methods {
			if len(sets) > 1 && s.Data != "" {
				m.Name = s.Data + " · " + m.Name
			}
			all = append(all, *m)
		}
	}
	return all
}

// set holds the runs on one data set with one metric, in groups of runs that differ only in the
// seed.
type set struct {
	Data, Metric string
	Methods      []*Method
	Rows         []*Run
}

// split splits runs by their data sets, in the order of the first run on each.
func split(runs []*Run) []*set {
	var sets []*set
	for _, r := range runs {
		data, metric := r.text("data"), cmp.Or(r.text("metric"), "score")
		at := slices.IndexFunc(sets, func(s *set) bool { return s.Data == data && s.Metric == metric })
		if at < 0 {
			at = len(sets)
			sets = append(sets, &set{Data: data, Metric: metric})
		}
		sets[at].Rows = append(sets[at].Rows, r)
	}
	for _, s := range sets {
		s.group()
	}
	return sets
}

// settings lists the settings that differ between runs, in alphabetical order, and the names
// and values of the others. Runs without known settings do not count.
func settings(runs []*Run) (differ []string, shared [][]string) {
	known := slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.Config == nil })
	names := map[string]any{}
	for _, r := range known {
		maps.Copy(names, r.Config)
	}
	maps.DeleteFunc(names, func(name string, _ any) bool { return rundir.Derived(name) })
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
// differ. Models from Go may differ in the shapes of the parameters alone. Of runs with equal
// settings the first finished one counts, or else the first.
func (s *set) group() {
	counts := map[string]*Run{} // by all settings
	for _, r := range s.Rows {
		if first := counts[r.settings()]; first == nil || r.done && !first.done {
			counts[r.settings()] = r
		}
	}
	differ, _ := settings(s.Rows)
	differ = slices.DeleteFunc(differ, func(name string) bool { return slices.Contains([]string{"seed", "method", "samples"}, name) })
	methods := map[string]*Method{} // by the name and the shapes
	for _, r := range s.Rows {
		name := r.label(differ, s.Rows[0])
		shapes := name + r.setting("parameters")
		m := methods[shapes]
		if m == nil {
			if slices.ContainsFunc(s.Methods, func(m *Method) bool { return m.Name == name }) {
				name += " · " + r.Name
			}
			m = &Method{Name: name, Number: len(s.Methods) + 1}
			methods[shapes], s.Methods = m, append(s.Methods, m)
		}
		r.Group, r.Same = m.Number, ""
		if counted := counts[r.settings()]; counted != r {
			r.Same = counted.Name
			m.Repeats++
			continue
		}
		m.Sampled = m.Sampled || r.number("eval_samples") > 0
		m.Runs = append(m.Runs, r)
	}
	for _, m := range s.Methods {
		m.Test, m.BestValid, m.StepMS = m.over("test"), m.over("best_valid"), m.over("train_ms_per_batch")
	}
}

// settings is a text of all settings, or the name of a run without known settings.
func (r *Run) settings() string {
	if r.Config == nil {
		return r.Name
	}
	return fmt.Sprint(r.Config)
}

// label names the run by its method, samples and the settings that differ.
func (r *Run) label(differ []string, first *Run) string {
	words := slices.DeleteFunc([]string{r.text("method"), r.text("samples")}, func(word string) bool { return word == "" })
	if r.Config == nil {
		return strings.Join(append(words, r.Name+" (settings not known)"), " · ")
	}
	for _, name := range differ {
		text := r.setting(name)
		if len(differ) > mostSettings && text == first.setting(name) {
			continue
		}
		name = strings.ReplaceAll(name, "_", " ")
		switch text {
		case "true":
		case "false":
			name = "no " + name
		default:
			name += " " + text
		}
		words = append(words, name)
	}
	return strings.Join(words, " · ")
}

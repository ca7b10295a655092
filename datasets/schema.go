package datasets

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
)

// Schema describes the features and the classes of data. A model keeps the schema of its training
// data, and needs other data in the same form. Options.Schema gives them this form.
type Schema struct {
	Features int `json:"features"` // columns of the matrix

	// Columns has an entry for each column of the tables. For a scaled array it has an entry
	// without a name for each feature. For an array that was not scaled it is nil.
	Columns []Column `json:"columns,omitempty"`

	// Normalize is the value of the key normalize: none, row or standardize.
	Normalize string `json:"normalize"`

	// Made is the value of the key features, degree or position, if the features were made of the
	// graph. Another graph cannot have the same positions. Graph is then the checksum of the graph's
	// edges; 0 if nobody computed it.
	Made  string `json:"made,omitempty"`
	Graph uint64 `json:"graph,omitempty"`

	Classes int      `json:"classes,omitempty"` // 0: the outputs are tasks
	Tasks   int      `json:"tasks,omitempty"`
	Names   []string `json:"names,omitempty"` // of the classes or tasks; nil: they are called by their numbers
}

// Column is a column of a table, with its values or its scaling.
type Column = formats.Column

// Schema returns the schema of d. It shares memory with d. Cost: O(1), but O(edges) for features
// that were made of the graph.
func (d *Data) Schema() *Schema {
	s := d.encoding
	s.Features, s.Classes, s.Tasks, s.Names = d.Features.Cols, d.Labels.Classes, d.Labels.Tasks, d.Labels.Names
	s.Normalize = cmp.Or(s.Normalize, "none")
	if s.ofOneGraph() && s.Graph == 0 {
		s.Graph = checksum(d.Graph)
	}
	return &s
}

// ofOneGraph reports whether other graphs cannot have the features.
func (s *Schema) ofOneGraph() bool { return s.Made == positionKey }

// source returns the part of a message that names the columns or files of the features.
func (s *Schema) source() string {
	if s.Made != "" {
		return "made of the graph (features=" + s.Made + ")"
	}
	if names := s.columnNames(); names != nil {
		return "the columns " + quoted(names) + " of tables"
	}
	return "without names"
}

// checksum returns a checksum of the edges and their weights.
func checksum(a *graph.CSR) uint64 {
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	for _, values := range []any{a.Ptr, a.Idx, a.Val} {
		binary.Write(sum, binary.LittleEndian, values) // a hash has no errors
	}
	return sum.Sum64()
}

// outputs names the classes or tasks.
func (s *Schema) outputs() []string {
	names := s.Names
	for k := len(names); k < max(s.Classes, s.Tasks); k++ {
		names = append(names, strconv.Itoa(k))
	}
	return names
}

// columnNames are the names of the columns of tables.
func (s *Schema) columnNames() (names []string) {
	for _, c := range s.Columns {
		if c.Name != "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// Check compares d with s. The error names the first difference in the features, classes or
// tasks. Data that were opened with s as Options.Schema have none. Cost: as for Data.Schema.
func (s *Schema) Check(d *Data) error {
	got := d.Schema()
	if err := d.named(s.compareFeatures(got)); err != nil {
		return err
	}
	if got.Classes != s.Classes || got.Tasks != s.Tasks || !slices.Equal(got.outputs(), s.outputs()) {
		return d.fail("the outputs are %s, and the model's %s", got.outputsText(), s.outputsText())
	}
	return nil
}

// compareFeatures is Check of the features.
func (s *Schema) compareFeatures(got *Schema) error {
	switch {
	case got.Made != s.Made || !slices.Equal(got.columnNames(), s.columnNames()):
		return fmt.Errorf("the features are %s, and the model's are %s", got.source(), s.source())
	case s.ofOneGraph() && s.Graph != 0 && got.Graph != s.Graph:
		return fmt.Errorf("features=%s has no meaning for another graph than the model's: train with features=%s, which serves all graphs", s.Made, degreeKey)
	case got.Features != s.Features:
		return fmt.Errorf("%d features, and the model's data have %d", got.Features, s.Features)
	case got.Normalize != s.Normalize:
		return fmt.Errorf("the features are normalize=%s, and the model's normalize=%s", got.Normalize, s.Normalize)
	}
	for k := range s.Columns {
		a, b := got.Columns[k], s.Columns[k]
		// Sums in another order differ a little.
		moved := max(math.Abs(a.Mean-b.Mean), math.Abs(a.Deviation-b.Deviation)) > 1e-9*b.Deviation
		if moved || a.Missing != b.Missing || !slices.Equal(a.Values, b.Values) {
			is, _ := json.Marshal(a) // no column fails
			was, _ := json.Marshal(b)
			return fmt.Errorf("column %q became %.200s, and in the model's data %.200s: name the source of a store, or to resume, the run's own data",
				cmp.Or(b.Name, strconv.Itoa(k)), is, was)
		}
	}
	return nil
}

// outputsText describes the outputs.
func (s *Schema) outputsText() string {
	return fmt.Sprintf("%s: %s", countText(s.Classes, s.Tasks), quoted(s.outputs()))
}

func countText(classes, tasks int) string {
	if tasks > 0 {
		return fmt.Sprintf("%d binary tasks", tasks)
	}
	return fmt.Sprintf("%d classes", classes)
}

func quoted(names []string) string { return listed("%q", names) }

// listed lists names, up to 10.
func listed(format string, names []string) string {
	const most = 10
	var text []string
	for _, name := range names[:min(len(names), most)] {
		text = append(text, fmt.Sprintf(format, name))
	}
	if len(names) > most {
		text = append(text, fmt.Sprintf("… (%d)", len(names)))
	}
	return strings.Join(text, ", ")
}

// mapOutputs numbers the classes or tasks of d as s does. Their names decide. It is an error if the
// features differ.
func (s *Schema) mapOutputs(d *Data) error {
	own, labelled := d.Schema(), !d.unlabelled
	if err := d.named(s.compareFeatures(own)); err != nil {
		return err
	}
	if labelled && ((own.Tasks > 0) != (s.Tasks > 0) || own.Names == nil && s.Names == nil && own.Classes > s.Classes) {
		return d.fail("the labels are %s, and the model's %s", own.outputsText(), s.outputsText())
	}
	from, to := own.outputs(), s.outputs()
	if slices.Equal(from, to) {
		d.Labels.Names = s.Names
		return nil
	}
	at := make(map[string]int32, len(to)) // from 1
	for k, name := range to {
		at[name] = int32(k + 1)
	}
	place := make([]int32, len(from)) // the model's number of each output of d; −1: none
	for c, name := range from {
		place[c] = at[name] - 1
		delete(at, name)
	}
	if labelled && (s.Tasks > 0 && len(at) > 0 || len(at) == len(to)) {
		return d.fail("the labels are %s, and lack the model's %s", own.outputsText(), quoted(slices.Sorted(maps.Keys(at))))
	}
	y := &graph.Labels{Classes: s.Classes, Tasks: s.Tasks, Names: s.Names, Class: slices.Clone(d.Labels.Class)}
	if s.Tasks > 0 {
		y.Class, y.Multi = nil, slices.Repeat([]float32{float32(math.NaN())}, d.Nodes()*s.Tasks)
		for k, v := range d.Labels.Multi {
			if to := place[k%own.Tasks]; to >= 0 {
				y.Multi[k/own.Tasks*s.Tasks+int(to)] = v
			}
		}
	}
	if !labelled {
		d.Metric = metricFor(y)
	} else if s.Tasks > 0 {
		d.note("tasks in the order of the model; %d others left out", own.Tasks-s.Tasks)
	}
	unknown := make([]int, len(from)) // nodes of each class
	for i, c := range y.Class {
		if c >= 0 {
			y.Class[i] = place[c]
			unknown[c]++
		}
	}
	for c, nodes := range unknown {
		if place[c] < 0 && nodes > 0 {
			d.note("%d nodes of class %s are not scored: the model does not know it", nodes, from[c])
		}
	}
	d.Labels = y
	for _, part := range d.Split.parts() {
		*part = slices.DeleteFunc(slices.Clone(*part), func(v int32) bool { return !y.Known(int(v)) })
	}
	return nil
}

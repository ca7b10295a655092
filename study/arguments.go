package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
)

// setDefaults gives each field of a struct that is zero the value of its tag default, in JSON.
// The error names a field below the number of its tag least.
func setDefaults(settings any) error {
	s := reflect.ValueOf(settings).Elem()
	for k := range s.NumField() {
		field, of := s.Field(k), s.Type().Field(k)
		if text := of.Tag.Get("default"); text != "" && field.IsZero() {
			_ = json.Unmarshal([]byte(text), field.Addr().Interface()) // a number, by the tag
		}
		least, err := strconv.ParseFloat(of.Tag.Get("least"), 64)
		if err == nil && !(field.Convert(reflect.TypeFor[float64]()).Float() >= least) {
			return fmt.Errorf("study: %s is %v, want at least %v", of.Name, field, least)
		}
	}
	return nil
}

// report calls progress, if it is not nil.
func report(progress func(done, total int), done, total int) {
	if progress != nil {
		progress(done, total)
	}
}

// checkGraph checks the arguments that all studies of a graph share:
// the Laplacian and lists of nodes. Cost: O(nodes of the graph).
func checkGraph(p *graph.Laplacian, nodes ...[]int32) error {
	if p == nil {
		return errors.New("study: the Laplacian is nil")
	}
	if err := p.Validate(); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	for _, list := range nodes {
		for k, i := range list {
			if i < 0 || int(i) >= p.Nodes() {
				return fmt.Errorf("study: node %d of the list is %d, outside [0, %d)", k, i, p.Nodes())
			}
		}
	}
	return nil
}

// checkProduct checks the product HW of a graph of n nodes.
func checkProduct(hw *graph.Features, n int) error {
	if hw == nil || hw.Rows != n || hw.Cols < 1 || hw.Data == nil || !hw.Sized() {
		return fmt.Errorf("study: the product HW has no row in single precision for each of %d nodes", n)
	}
	return nil
}

// checkNorms checks the arguments of studies of norms: checkGraph's, the mini-batches, whose number
// is negative if there are none, and layers with exactly one norm for each node.
func checkNorms(p *graph.Laplacian, layers [][]float64, nodes []int32, batches int) error {
	if err := checkGraph(p, nodes); err != nil {
		return err
	}
	if len(layers) == 0 || batches >= 0 && len(nodes) == 0 {
		return fmt.Errorf("study: %d layers, and batches of %d nodes: want at least 1 each", len(layers), len(nodes))
	}
	for l, norms := range layers {
		if len(norms) != p.Nodes() {
			return fmt.Errorf("study: %s has %d row norms for %d nodes", layerName(l), len(norms), p.Nodes())
		}
	}
	return nil
}

// layerName names a layer in tables, from 1.
func layerName(l int) string { return fmt.Sprintf("layer %d", l+1) }

package graph

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Labels holds the labels of the nodes: either one class out of Classes (Class is
// set), or Tasks independent binary labels (Multi is set). It is read-only in use
// and safe for concurrent reading.
type Labels struct {
	Classes int     // number of classes; 0 for binary tasks
	Class   []int32 // class of each node, -1 if unknown; nil for binary tasks

	Tasks int       // number of binary tasks; 0 for classes
	Multi []float32 // nodes×Tasks, row-major: 0, 1, or NaN if unknown

	// Names holds the name of each class or task, in the order of a model's outputs. nil
	// means that the source has none, or that each is its number.
	Names []string
}

// Name returns the name of class or task k, or its number if it has none.
func (y *Labels) Name(k int) string {
	if k < len(y.Names) {
		return y.Names[k]
	}
	return strconv.Itoa(k)
}

// Nodes returns the number of nodes.
func (y *Labels) Nodes() int {
	if y.Tasks > 0 {
		return len(y.Multi) / y.Tasks
	}
	return len(y.Class)
}

// Known reports whether a node has a class, or at least one known task.
func (y *Labels) Known(node int) bool {
	if y.Tasks == 0 {
		return y.Class[node] >= 0
	}
	return slices.ContainsFunc(y.Multi[node*y.Tasks:(node+1)*y.Tasks], func(v float32) bool { return v == v })
}

// Outputs returns the width of a model's output: the number of classes, or of tasks.
func (y *Labels) Outputs() int {
	if y.Tasks > 0 {
		return y.Tasks
	}
	return y.Classes
}

// Validate returns an error about the first fault of y: neither or both kinds set, a
// class outside [-1, Classes), a binary label other than 0, 1 and NaN, names for
// only some of the classes or tasks.
func (y *Labels) Validate() error {
	switch {
	case (y.Class == nil) == (y.Multi == nil):
		return fmt.Errorf("graph: labels need either classes or binary tasks: %w", ErrInvalid)
	case y.Class != nil && (y.Classes <= 0 || y.Tasks != 0):
		return fmt.Errorf("graph: labels of %d classes and %d tasks: %w", y.Classes, y.Tasks, ErrInvalid)
	case y.Multi != nil && (y.Tasks <= 0 || y.Classes != 0 || len(y.Multi)%y.Tasks != 0):
		return fmt.Errorf("graph: %d binary labels for %d tasks: %w", len(y.Multi), y.Tasks, ErrInvalid)
	case y.Names != nil && len(y.Names) != y.Outputs():
		return fmt.Errorf("graph: %d names for %d classes or tasks: %w", len(y.Names), y.Outputs(), ErrInvalid)
	}
	for i, c := range y.Class {
		if c < -1 || int(c) >= y.Classes {
			return fmt.Errorf("graph: label of node %d is %d, outside [-1, %d): %w", i, c, y.Classes, ErrInvalid)
		}
	}
	for k, v := range y.Multi {
		if v != 0 && v != 1 && !math.IsNaN(float64(v)) {
			return fmt.Errorf("graph: label of node %d, task %d is %v, want 0, 1 or NaN: %w", k/y.Tasks, k%y.Tasks, v, ErrInvalid)
		}
	}
	return nil
}

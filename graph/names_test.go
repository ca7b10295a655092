package graph

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// Names come back as they were appended, and by name.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.String()).Draw(t, "names")
		n := new(Names)
		first := map[string]int32{}
		for i, name := range want {
			n.Append(name)
			if _, again := first[name]; !again {
				first[name] = int32(i)
			}
		}
		if err := n.Validate(); err != nil {
			t.Fatal(err)
		}
		index := n.Index()
		if n.Len() != len(want) || len(index) != len(first) {
			t.Fatalf("%d names and %d in the index of %q", n.Len(), len(index), want)
		}
		for i, name := range want {
			if n.At(i) != name || index[name] != first[name] {
				t.Fatalf("name %d of %q is %q, found at %d", i, want, n.At(i), index[name])
			}
		}
	})
}

// Without names, a node's name is its number.
func TestNoNames(t *testing.T) {
	var n *Names
	if n.Len() != 0 || n.At(12) != "12" || n.Bytes() != 0 || n.Validate() != nil || len(n.Index()) != 0 {
		t.Error("nil is not an empty list of names")
	}
	if y := (&Labels{Classes: 2, Class: []int32{0, 1}}); y.Name(1) != "1" || y.Validate() != nil {
		t.Error("a class without a name is not its number")
	}
}

func TestBadNames(t *testing.T) {
	for what, n := range map[string]*Names{
		"decreasing": {Text: []byte("ab"), Ends: []int64{2, 1}}, "negative": {Ends: []int64{-1}},
		"beyond": {Text: []byte("a"), Ends: []int64{2}}, "short": {Text: []byte("ab"), Ends: []int64{1}},
	} {
		if err := n.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	y := &Labels{Classes: 2, Class: []int32{0, 1}, Names: []string{"a"}}
	if err := y.Validate(); !errors.Is(err, ErrInvalid) {
		t.Errorf("one name of two classes: %v", err)
	}
}

package formats

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Numbers far apart are sorted without taking their difference, which overflows.
func TestLabelsFarApart(t *testing.T) {
	numbers := []int64{math.MinInt64, -1 << 62, -7, 0, 5, 1 << 62, math.MaxInt64}
	for range 20 { // the order of a map varies
		c := newCategories()
		for _, k := range rand.Perm(len(numbers)) {
			c.add(category{number: float64(numbers[k]), isNumber: true})
		}
		c.add(category{name: "b"})
		c.add(category{name: "a"})
		final := c.order()
		for k, number := range numbers {
			if got := final[c.index[category{number: float64(number), isNumber: true}]]; int(got) != k {
				t.Fatalf("label %d is class %d, want %d", number, got, k)
			}
		}
		if a, b := final[c.index[category{name: "a"}]], final[c.index[category{name: "b"}]]; a != 7 || b != 8 {
			t.Fatalf("names are classes %d and %d, want 7 and 8", a, b)
		}
	}
}

// A matrix of tasks may be larger than the limit for expanded sparse matrices: Yelp has
// a hundred tasks for each of 716,847 nodes. Here most nodes have no label.
func TestManyTasks(t *testing.T) {
	const n, listed, tasks = 2_000_000, 4000, 10
	path := filepath.Join(t.TempDir(), "class_map.json")
	list := "[" + strings.Repeat("0, ", tasks-1) + "1]"
	b := []byte("{")
	for i := range listed {
		b = fmt.Appendf(b, "%q: %s,", strconv.Itoa(i), list)
	}
	b[len(b)-1] = '}'
	write(t, path, b)
	y, err := readClassMap(context.Background(), path, n, new(nodeIDs).key)
	if err != nil {
		t.Fatal(err)
	}
	if y.Tasks != tasks || y.Nodes() != n || y.Multi[tasks-1] != 1 || y.Multi[0] != 0 || y.Multi[listed*tasks] == 0 {
		t.Errorf("%d tasks of %d nodes", y.Tasks, y.Nodes())
	}
}

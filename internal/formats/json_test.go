package formats

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Numbers far apart are sorted without taking their difference, which overflows.
func TestLabelsFarApart(t *testing.T) {
	numbers := []int64{math.MinInt64, -1 << 62, -7, 0, 5, 1 << 62, math.MaxInt64}
	for range 20 { // the order of a map varies
		c := make(map[string]int32)
		for _, k := range rand.Perm(len(numbers)) {
			c[strconv.FormatInt(numbers[k], 10)] = 0
		}
		c["b"], c["a"] = 0, 0
		var want []string
		for _, number := range numbers {
			want = append(want, strconv.FormatInt(number, 10))
		}
		if got := numberKinds(c); !slices.Equal(got, append(want, "a", "b")) {
			t.Fatalf("the classes are %q, want %q, a, b", got, want)
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
	d, err := readSet(context.Background(), "", Options{}, func(r *reader) {
		r.readClassMap(path, n, func(key string) (int32, bool) {
			id, err := strconv.Atoi(key)
			return int32(id), err == nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	y := d.Labels
	if y.Tasks != tasks || y.Nodes() != n || y.Multi[tasks-1] != 1 || y.Multi[0] != 0 || y.Multi[listed*tasks] == 0 {
		t.Errorf("%d tasks of %d nodes", y.Tasks, y.Nodes())
	}
}

package datasets

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A source without features gets position and degree, or the kind of the run's schema. Position
// is refused for another graph, also in a store. Degree serves every graph.
func TestFeaturesOfASourceWithout(t *testing.T) {
	in := edgeListFiles(t, map[string]string{
		"e": "a,b\nb,c\nc,d\nd,e\ne,f\n", "other": "a,b\nb,c\nc,d\nd,e\nf,a\n", "weighted": "a,b,2\nb,c,1\nc,d,1\nd,e,1\ne,f,1\n",
		"l": "a,x\nb,y\nc,x\nd,y\ne,x\nf,y\n", "f": "a,1\nb,2\nc,3\nd,4\ne,5\nf,7\n",
	})
	const here, there = "D/e?header=0&labels=D/l", "D/other?header=0&labels=D/l"
	d := open(t, in(here))
	s := d.Schema()
	if s.Made != positionKey || s.Graph == 0 || d.Features.Cols != positionWidth+2 || d.Features.Row(1)[positionWidth+1] != float32(math.Log(3)) {
		t.Errorf("schema %+v, node 1 has %v", s, d.Features.Row(1))
	}
	if notes := strings.Join(d.Notes, "; "); !strings.Contains(notes, "no features in the source (features=FILE): 64 features of a node's position") || !strings.Contains(notes, "features=degree") {
		t.Errorf("notes %s", notes)
	}
	for _, spec := range []string{here, here + "&features=position"} {
		if again := mustFit(t, in(spec), s); !slices.Equal(again.Features.Data, d.Features.Data) {
			t.Errorf("%s: other features", spec)
		}
	}
	stores := map[string]string{here: "", there: ""}
	for spec := range stores {
		path := filepath.Join(t.TempDir(), "store.safetensors")
		if err := WriteStore(t.Context(), path, open(t, in(spec))); err != nil {
			t.Fatal(err)
		}
		stores[spec] = "store:" + path
	}
	if stored := mustFit(t, stores[here], s); !slices.Equal(stored.Features.Float32s(), d.Features.Data) {
		t.Error("the store has other features")
	}
	degree, table := open(t, in(here+"&features=degree")).Schema(), open(t, in(here+"&features=D/f")).Schema()
	if degree.Made != degreeKey || degree.Graph != 0 || mustFit(t, in(there), degree).Features.Cols != 2 {
		t.Errorf("schema %+v", degree)
	}
	for _, c := range []struct {
		spec  string
		model *Schema
		want  string
	}{
		{in(there), s, "features=position has no meaning for another graph than the model's: train with features=degree"},
		{stores[there], s, "train with features=degree"},
		{in("D/weighted?header=0&weights=1&labels=D/l"), s, "has no meaning for another graph"},
		{in(here + "&features=D/f"), s, "and the model's are made of the graph (features=position)"},
		{in(here + "&features=degree"), s, "(features=degree), and the model's are made of the graph (features=position)"},
		{in(here), table, "no features in the source (features=FILE), and the model's were not made of the graph"},
		{in(here + "&features=degree"), table, "made of the graph (features=degree), and the model's are the columns"},
	} {
		if _, err := fitted(t, c.spec, c.model); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.spec, err, c.want)
		}
	}
}

// A new node has the features of its degree, scaled as the others, and no position.
func TestNewFeaturesOfTheGraph(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "0,1\n1,2\n2,3\n", "l": "1\n0\n1\n0\n"})
	for _, how := range []string{"none", "row", "standardize"} {
		d := open(t, strings.Replace(in("D/e?labels=D/l&features=degree"), "normalize=none&split=1/1/1", "split=2/1/1&normalize="+how, 1))
		for _, text := range []string{"", "[1, 1.0986123]"} {
			if x, err := d.NewFeatures([]byte(text), 2); err != nil || !slices.Equal(x, d.Features.Row(1)) { // 1 has two neighbours
				t.Errorf("normalize=%s, %q: %v, %v; want %v", how, text, x, err, d.Features.Row(1))
			}
		}
	}
	for _, text := range []string{"", "[1]"} {
		if _, err := open(t, in("D/e?labels=D/l&features=position")).NewFeatures([]byte(text), 1); err == nil || !strings.Contains(err.Error(), "train with features=degree") {
			t.Errorf("features=position: %v", err)
		}
	}
}

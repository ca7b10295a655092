package reproduce

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
)

// Every data set that an experiment opens is closed at its end, also after an error.
func TestDataAreClosed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("mappings are counted in /proc")
	}
	dir, opened := t.TempDir(), 0
	mapped := func() int {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(maps), dir)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := small(t)
	o.Open = func(ctx context.Context, spec string) (*datasets.Data, error) {
		opened++
		path := filepath.Join(dir, fmt.Sprint(opened))
		data, err := datasets.Open(ctx, spec, datasets.Options{})
		if err == nil {
			err = datasets.WriteStore(ctx, path, data)
		}
		if err != nil {
			return nil, err
		}
		return datasets.Open(ctx, "store:"+path, datasets.Options{})
	}
	most := 0
	o.Log = func(string) { most = max(most, mapped()) }
	o.Data = append(o.Data, smallData+"&seed=2")
	reproduced(t, "table8", o)
	if opened < 2 || most == 0 {
		t.Fatalf("%d data sets were opened, %d mapped", opened, most)
	}
	if n := mapped(); n > 0 {
		t.Errorf("%d mappings are left of %d data sets", n, opened)
	}
	o.Dir, o.Log = t.TempDir(), func(string) { cancel() }
	if _, err := Run(ctx, "table3", o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the context's", err)
	}
	if n := mapped(); n > 0 {
		t.Errorf("%d mappings are left after an error", n)
	}
}

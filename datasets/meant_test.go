package datasets

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMeant checks that a name in another spelling and the path of a file or folder are
// answered with a SPEC.
func TestMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"graph/indptr.npy", "Cora/raw/ind.cora.graph", "ogbn_arxiv/raw/x", "flat/ind.cora.graph", "e.csv", "E.TSV.gz", "a.npz", "notes.md", "empty/x"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteStore(t.Context(), "p", made(t, 20, 1)); err != nil { // its content tells it
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"ogbn_products":     "did you mean ogbn-products?",
		"Citeseer":          "did you mean citeseer?",
		"Cora":              "did you mean planetoid:Cora/raw/cora?", // the folder is there
		"flat":              "did you mean planetoid:flat/cora?",
		"ogbn_arxiv":        "did you mean ogb:ogbn_arxiv?",
		"graph":             "did you mean npy:graph?",
		"./graph/?seed=2":   "did you mean npy:./graph/?seed=2?",
		"e.csv?labels=l":    "did you mean edges:e.csv?labels=l?",
		"E.TSV.gz":          "did you mean edges:E.TSV.gz?",
		"a.npz":             "did you mean npz:a.npz?",
		"p":                 "did you mean store:p?",
		"notes.md":          "want one of synth:NAME",
		"empty":             "want one of synth:NAME",
		"planetoid:ogbn/xy": "want planetoid:DIR/NAME",
		"npy:~/graph":       "write $HOME/graph",
	} {
		expectError(t, spec, want)
	}
}

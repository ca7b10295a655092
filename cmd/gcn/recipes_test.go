package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/run"
)

// TestRecipes reads each shipped recipe, and trains with it: its options are in the run's
// config.json, and the run goes on without it.
func TestRecipes(t *testing.T) {
	t.Chdir(t.TempDir())
	small := []string{"--data", smallData, "--max-batches", "2", "--hidden", "16", "--batch", "64"}
	for _, r := range run.Recipes() {
		t.Run(r.Name, func(t *testing.T) {
			if r.Source == "" || r.Differs == "" {
				t.Errorf("source %q, differs %q", r.Source, r.Differs)
			}
			file, err := run.ReadRecipe(t.Context(), r.Name)
			if err != nil {
				t.Fatal(err)
			}
			out := succeed(t, append([]string{"train", "--recipe", r.Name, "--out", r.Name}, small...)...)
			if n := strings.Count(out.stderr, "recipe "+r.Name+" sets --method "); n != 1 {
				t.Errorf("the recipe is printed %d times:\n%s", n, out.stderr)
			}
			saved, err := run.ReadFile(t.Context(), r.Name)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range file.Values {
				if slices.Contains(small, "--"+v.Flag()) {
					continue
				}
				k := slices.IndexFunc(saved.Values, func(s run.Value) bool { return s.Flag() == v.Flag() })
				switch {
				case k < 0:
					t.Errorf("config.json has no %s", v.Option)
				case v.Flag() == "samples": // a number for each layer
					if !strings.HasPrefix(saved.Values[k].Text, v.Text+",") {
						t.Errorf("config.json has samples %s", saved.Values[k].Text)
					}
				case !sameText(saved.Values[k].Text, v.Text):
					t.Errorf("config.json has %s %s, want %s", v.Option, saved.Values[k].Text, v.Text)
				}
			}
			succeed(t, "train", "--out", r.Name, "--resume", "-q")
			succeed(t, append([]string{"train", "--recipe", r.Name, "--out", r.Name, "--resume", "-q"}, small...)...)
		})
	}
}

// TestPaperRecipe checks that the paper's recipe alone gives the paper's protocol: it sets every
// option whose default is another one, and the other options have the paper's values.
func TestPaperRecipe(t *testing.T) {
	protocol := map[string]string{
		"method": "ladies-flat-debiased", "samples": "512", "batch": "512", "batches_per_epoch": "10", "max_batches": "1000", "eval_every": "10",
		"patience": "200", "model": "program", "layers": "2", "hidden": "256", "activation": "elu", "dropout": "0.2", "classifier_dropout": "0.2",
		"lr": "0.001", "schedule": "none?warm-up=0",
	}
	file, err := run.ReadRecipe(t.Context(), "paper")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range file.Values {
		got[v.Option] = v.Text
	}
	if !maps.Equal(got, protocol) {
		t.Errorf("the recipe is %v, want %v", got, protocol)
	}
	// These options are not in the recipe.
	maps.Copy(protocol, map[string]string{
		"data": smallData, "samples": "512,512", "epochs": "0", "beta1": "0.9", "beta2": "0.999", "epsilon": "1e-8", "weight_decay": "0", "clip": "0",
		"residual": "false", "layer_norm": "false", "device": "cpu", "seed": "1",
	})
	defaults := run.New()
	for _, o := range run.Options(&defaults) {
		if _, there := protocol[o.Name]; !there {
			protocol[o.Name] = o.String()
		}
	}
	t.Chdir(t.TempDir())
	succeed(t, "train", "-q", "--data", smallData, "--out", "recipe", "--recipe", "paper")
	saved, err := run.ReadFile(t.Context(), "recipe")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range saved.Values {
		if want := protocol[v.Option]; v.Text != want {
			t.Errorf("config.json has %s %s, want %q", v.Option, v.Text, want)
		}
		delete(protocol, v.Option)
	}
	if len(protocol) > 0 {
		t.Errorf("config.json lacks %v", protocol)
	}
	succeed(t, "train", "-q", "--config", "recipe/config.json", "--out", "again")
	if !bytes.Equal(weightsOf(t, "recipe"), weightsOf(t, "again")) {
		t.Error("config.json gives other weights than the recipe")
	}
}

// TestRecipeOrder checks that the command line comes before --config, and --config before
// --recipe, and that parts and other methods keep their own samples.
func TestRecipeOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "c.json", []byte(`{"lr": 0.02, "dropout": 0.3}`))
	writeFile(t, "r.json", []byte(`{"lr": 0.03, "dropout": 0.4, "hidden": 24, "layers": 3, "samples": 4096}`))
	args := []string{"train", "--data", smallData, "--max-batches", "2", "--batch", "32"}
	for _, c := range []struct {
		more, prints string
		want         []string // in config.json
	}{
		{"--recipe r.json", "sets --lr 0.03 --dropout 0.4 --hidden 24 --layers 3 --samples 4096\n", []string{"lr 0.03", "dropout 0.4", "hidden 24", "layers 3", "method ladies-cv", "samples 4096,4096"}},
		{"--recipe r.json --config c.json --dropout 0.1", "sets --hidden 24 --layers 3 --samples 4096\n", []string{"lr 0.02", "dropout 0.1", "hidden 24"}},
		{"--recipe r.json --method neighbor", "sets --lr 0.03 --dropout 0.4 --hidden 24 --layers 3\n", []string{"method neighbor", "samples 2,2,2"}},
		{"--recipe r.json --method ladies", "--samples 4096\n", []string{"method ladies", "samples 4096,4096,4096"}},
		{"--recipe ogb-arxiv-gcn-sampled --method ladies?draw=poisson --hidden 8", "sets --samples 4096 ", []string{"method ladies?draw=poisson", "layers 3", "samples 4096,4096,4096"}},
		{"--recipe tuned-arxiv-gcn --method full --hidden 8", "sets --batches-per-epoch 0 ", []string{"method full", "layers 5"}},
		{"--recipe r.json --lr 0.1 --dropout 0.1 --hidden 8 --layers 1 --samples 8", "sets no option that is not set already\n", []string{"lr 0.1", "method ladies-flat-debiased"}},
	} {
		out := succeed(t, append(append(slices.Clone(args), "--out", "run", "--resume"), strings.Fields(c.more)...)...)
		if !strings.Contains(out.stderr, c.prints) {
			t.Errorf("%s: no %q in\n%s", c.more, c.prints, out.stderr)
		}
		saved, err := run.ReadFile(t.Context(), "run")
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, v := range saved.Values {
			words = append(words, v.Flag()+" "+v.Text)
		}
		all := "," + strings.Join(words, ",") + ","
		for _, want := range c.want {
			if !strings.Contains(all, ","+want+",") {
				t.Errorf("%s: no %q in config.json: %s", c.more, want, all)
			}
		}
		if err := os.RemoveAll("run"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecipeNames checks the list, and the errors about a recipe.
func TestRecipeNames(t *testing.T) {
	t.Chdir(t.TempDir())
	text := succeed(t, "recipes").stdout
	list := object(t, succeed(t, "recipes", "--json"))["recipes"].([]any)
	if len(list) != len(run.Recipes()) {
		t.Errorf("%d recipes, want %d", len(list), len(run.Recipes()))
	}
	for k, r := range run.Recipes() {
		for _, want := range []string{r.Name + " ", r.Source + "\n", r.Differs + "\n", " --method "} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		row := list[k].(map[string]any)
		wantFields(t, row, "name", "source", "differs", "options")
		wantFields(t, row["options"].(map[string]any), "method", "layers", "hidden", "dropout", "lr")
	}
	writeFile(t, "r.json", []byte("{\n\"hiden\": 3}"))
	writeFile(t, "wrong.json", []byte(`{"lr": -1}`))
	writeFile(t, "c.json", []byte(`{"recipe": "paper"}`))
	fail(t, exitUsage, append(run.RecipeNames(), "did you mean tuned-arxiv-gcn?", "JSON file"), "train", "--recipe", "tuned-arxiv-gnc")
	fail(t, exitUsage, []string{"r.json:2", "did you mean hidden?"}, "train", "--recipe", "r.json")
	fail(t, exitUsage, []string{"wrong.json:1: --lr -1"}, "train", "--recipe", "wrong.json", "--data", smallData)
	fail(t, exitUsage, []string{"c.json:1", "option of the command line only"}, "train", "--config", "c.json")
	fail(t, exitFailed, []string{"missing.json"}, "train", "--recipe", "missing.json")
}

// sameText reports whether two values of an option are the same text or number.
func sameText(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return a == b || errX == nil && errY == nil && x == y
}

package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// writeShop writes edges.csv and people.csv into a new folder. A person's label is what the person
// buys. The rows and the columns of people.csv have the given orders.
func writeShop(t *testing.T, folder string, rows []int, columns ...int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 60
	kinds, towns := []string{"fruit", "greens", "meat"}, []string{"Bonn", "Aachen", "Köln", "Trier"}
	table := [][]string{{"name", "town", "age", "spent", "buys"}}
	var edges strings.Builder
	edges.WriteString("from,to\n")
	for i := range n {
		k := i % 3
		age := strconv.Itoa(20 + 15*k + rng.IntN(12))
		if rng.IntN(8) == 0 {
			age = ""
		}
		table = append(table, []string{fmt.Sprintf("p%02d", i), towns[(k+rng.IntN(2))%4], age, fmt.Sprintf("%.2f", 100*rng.Float64()+1000*float64(k)), kinds[k]})
		fmt.Fprintf(&edges, "p%02d,p%02d\np%02d,p%02d\n", i, (i+3)%n, i, (i+6)%n)
	}
	var people bytes.Buffer
	w := csv.NewWriter(&people)
	for k, row := range append([]int{-1}, rows...) {
		var cells []string
		for _, column := range columns {
			cells = append(cells, table[row+1][column])
		}
		if err := w.Write(cells); err != nil {
			t.Fatal(k, err)
		}
	}
	w.Flush()
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, folder+"/people.csv", people.Bytes())
	writeFile(t, folder+"/edges.csv", []byte(edges.String()))
}

// byName reads the predictions of a .csv file.
func byName(t *testing.T, path string) (header []string, rows map[string][]string) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(readFile(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = make(map[string][]string)
	for _, row := range all[1:] {
		rows[row[0]] = row[1:]
	}
	return all[0], rows
}

// A run remembers its data. Tables of another order, tables without the label and a store hold the
// same people. A person's prediction is the same in each.
func TestRunRemembersItsData(t *testing.T) {
	t.Chdir(t.TempDir())
	order := rand.New(rand.NewPCG(1, 2)).Perm(60)
	all := make([]int, 60)
	for i := range all {
		all[i] = i
	}
	writeShop(t, "shop", all, 0, 1, 2, 3, 4)
	writeShop(t, "other", order, 0, 4, 3, 1, 2)
	writeShop(t, "bare", order, 0, 3, 2, 1)
	spec := func(folder string) string {
		return "edges:" + folder + "/edges.csv?labels=" + folder + "/people.csv&labels-columns=name,buys&features=" + folder + "/people.csv&split=30/15/15"
	}
	succeed(t, "train", "--data", spec("shop"), "--out", "run", "-q", "--max-batches", "20")
	succeed(t, "predict", "--run", "run", "--out", "own.csv")
	succeed(t, "datasets", "convert", spec("shop"), "shop.safetensors")
	header, own := byName(t, "own.csv")
	for _, data := range []string{spec("shop"), spec("other"), "edges:bare/edges.csv?features=bare/people.csv", "store:shop.safetensors"} {
		succeed(t, "predict", "--run", "run", "--out", "again.csv", "--data", data)
		h, again := byName(t, "again.csv")
		if strings.Join(h, ",") != strings.Join(header, ",") || len(again) != len(own) {
			t.Fatalf("%s: %d rows under %v, want %d under %v", data, len(again), h, len(own), header)
		}
		for name, row := range again {
			for k, cell := range row {
				want := own[name][k]
				a, err := strconv.ParseFloat(cell, 64)
				b, _ := strconv.ParseFloat(want, 64)
				if cell != want && (err != nil || data == spec("shop") || math.Abs(a-b) > 1e-5*(1+math.Abs(b))) {
					t.Fatalf("%s: %s has %s under %s, want %s", data, name, cell, header[k+1], want)
				}
			}
		}
	}
	table := bytes.ReplaceAll(readFile(t, "other/people.csv"), []byte("fruit"), []byte("bread"))
	writeFile(t, "other/people.csv", bytes.ReplaceAll(table, []byte("Trier"), []byte("Mainz")))
	notes := succeed(t, "eval", "--run", "run", "--data", spec("other")).stderr
	for _, want := range []string{"20 nodes of class bread are not scored", "town one of the run's 4 values", "rows with another"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	fail(t, exitFailed, []string{"run was trained with columns", `"spent"`}, "predict", "--run", "run", "--out", "x.csv", "--data", "edges:bare/edges.csv?features=bare/people.csv&features-columns=name,town,age")
	fail(t, exitFailed, []string{"the features have no names"}, "eval", "--run", "run", "--data", "edges:shop/edges.csv?labels=shop/people.csv&labels-columns=name,buys&features=degree&split=30/15/15")
}

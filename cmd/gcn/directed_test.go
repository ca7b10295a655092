package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A directed graph is trained and predicted with every method but those that name
// themselves. Reversing the edges and the direction gives the same scores.
func TestTrainDirected(t *testing.T) {
	t.Chdir(t.TempDir())
	var edges, reversed, labels, features strings.Builder
	for i := range 40 {
		for _, step := range []int{1, 3} {
			fmt.Fprintf(&edges, "%d,%d\n", i, (i+step)%40)
			fmt.Fprintf(&reversed, "%d,%d\n", (i+step)%40, i)
		}
		fmt.Fprintf(&labels, "%d\n", i%2)
		row := slices.Repeat([]string{"0"}, 40)
		row[i] = "1"
		fmt.Fprintln(&features, strings.Join(row, ","))
	}
	writeFile(t, "e", []byte(edges.String()))
	writeFile(t, "r", []byte(reversed.String()))
	writeFile(t, "l", []byte(labels.String()))
	writeFile(t, "x", []byte(features.String()))
	args := []string{"-q", "--samples", "8,8", "--max-batches", "3", "--hidden", "8"}
	spec := func(file, direction string) string {
		return "edges:" + file + "?labels=l&features=x&directed=" + direction
	}
	for _, method := range []string{"full", "ladies-flat-debiased", "fastgcn-debiased", "neighbor", "labor", "vrgcn", "poisson-ladies", "ladies-cv"} {
		train := append([]string{"train", "--data", spec("e", "out"), "--method", method, "--out", method}, args...)
		if method == "ladies-cv" || method == "vrgcn" {
			train = append(train, "--exact-input")
		}
		succeed(t, train...)
	}
	for _, method := range []string{"saint-node", "saint-edge", "saint-walk", "cluster"} {
		fail(t, exitFailed, []string{"needs an undirected graph"}, append([]string{"train", "--data", spec("e", "out"), "--method", method}, args...)...)
	}
	succeed(t, append([]string{"train", "--data", spec("r", "in"), "--method", "full", "--out", "back"}, args...)...)
	succeed(t, "predict", "--run", "full", "--out", "a.npy", "--logits")
	succeed(t, "predict", "--run", "back", "--out", "b.npy", "--logits")
	succeed(t, append([]string{"train", "--data", spec("e", "0"), "--method", "full", "--out", "both"}, args...)...)
	succeed(t, "predict", "--run", "both", "--out", "c.npy", "--logits")
	a, b, c := readFile(t, "a.npy"), readFile(t, "b.npy"), readFile(t, "c.npy")
	if string(a) != string(b) {
		t.Error("reversed edges, read in the other direction, give other scores")
	}
	if string(a) == string(c) {
		t.Error("the direction of the edges changes nothing")
	}
}

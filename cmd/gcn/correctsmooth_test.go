package main

import (
	"strings"
	"testing"
)

// TestCorrectAndSmooth raises the score of a weak model, with eval and predict agreeing on
// the setting.
func TestCorrectAndSmooth(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, trainArgs("--out", "r", "--runs", "2", "-q", "--max-batches", "5")...)
	runs := []string{"--run", "r/seed-1", "--run", "r/seed-2"}
	plain := object(t, succeed(t, append([]string{"eval", "--json"}, runs...)...))
	if _, ok := plain["correct_and_smooth"]; ok {
		t.Error("eval states a setting of correct and smooth without the option")
	}
	better := object(t, succeed(t, append([]string{"eval", "--json", "--correct-and-smooth"}, runs...)...))
	if before, after := plain["score"].(float64), better["score"].(float64); after <= before {
		t.Errorf("test score %v, the model alone %v", after, before)
	}
	chosen, _ := better["correct_and_smooth"].(map[string]any)
	wantFields(t, chosen, "correct_alpha", "smooth_alpha", "scale", "iterations", "model_valid", "valid")
	valid := object(t, succeed(t, append([]string{"eval", "--json", "--correct-and-smooth", "--split", "valid"}, runs...)...))
	if valid["score"] != chosen["valid"] {
		t.Errorf("valid score %v, the choice says %v", valid["score"], chosen["valid"])
	}
	text := succeed(t, append([]string{"eval", "--correct-and-smooth"}, runs...)...).stdout
	if !strings.Contains(text, "correct and smooth model valid") {
		t.Errorf("eval does not print the setting:\n%s", text)
	}

	said := object(t, succeed(t, append([]string{"predict", "--json", "--correct-and-smooth", "--out", "all.npy"}, runs...)...))
	took, _ := said["correct_and_smooth"].(map[string]any)
	for name, want := range chosen {
		if took[name] != want {
			t.Errorf("predict: %s is %v, eval has %v", name, took[name], want)
		}
	}
	if said["kind"] != "probabilities" {
		t.Errorf("kind %v", said["kind"])
	}
	writeFile(t, "some.txt", []byte("7\n3\n7\n"))
	text = succeed(t, append([]string{"predict", "--correct-and-smooth", "--out", "some.npy", "--nodes", "some.txt"}, runs...)...).stdout
	if !strings.Contains(text, "correct and smooth correct alpha") {
		t.Errorf("predict does not print the setting:\n%s", text)
	}
	all, some := readScores(t, "all.npy", 600, 10), readScores(t, "some.npy", 3, 10)
	for k, v := range []int{7, 3, 7} {
		for c := range 10 {
			if some[10*k+c] != all[10*v+c] {
				t.Fatalf("node %d, class %d: %v, among all nodes %v", v, c, some[10*k+c], all[10*v+c])
			}
		}
	}

	fail(t, exitUsage, []string{"labels of the training nodes"}, append([]string{"eval", "--correct-and-smooth", "--split", "train"}, runs...)...)
	fail(t, exitUsage, []string{"--correct-and-smooth"}, "predict", "--run", "r/seed-1", "--correct-and-smooth", "--layer", "1", "--out", "x.npy")
}

func TestCorrectAndSmoothRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "e", []byte("0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n"))
	writeFile(t, "l", []byte("0\n1\n0\n1\n0\n1\n"))
	succeed(t, "train", "--data", "edges:e?labels=l&features=degree&directed=out&split=2/2/2", "--out", "r", "-q", "--method", "full", "--max-batches", "2")
	fail(t, exitFailed, []string{"undirected", "directed=0"}, "predict", "--run", "r", "--correct-and-smooth", "--out", "x.npy")
	fail(t, exitFailed, []string{"labelled training nodes"}, "predict", "--run", "r", "--correct-and-smooth", "--out", "x.npy", "--data", "edges:e?features=degree")
}

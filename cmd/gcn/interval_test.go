package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEvalEveryAuto(t *testing.T) {
	t.Chdir(t.TempDir())
	auto := trainArgs("--eval-every", "auto", "--out", "a")
	out := succeed(t, auto...)
	if !strings.Contains(out.stderr, "an evaluation every 4 batches") || !strings.Contains(out.stderr, "a tenth of the limit (--max-batches") {
		t.Errorf("standard error: %s", out.stderr)
	}
	if !strings.Contains(out.stdout, "evaluation ") || !strings.Contains(out.stdout, "waiting for samples") {
		t.Errorf("the table does not say where the time went:\n%s", out.stdout)
	}
	if config := string(readFile(t, "a/config.json")); !strings.Contains(config, `"eval_every": 4`) {
		t.Errorf("config.json: %s", config)
	}
	succeed(t, trainArgs("--eval-every", "4", "--out", "b", "-q")...)
	if !bytes.Equal(weightsOf(t, "a"), weightsOf(t, "b")) {
		t.Error("the number gives other weights than auto")
	}
	// A resumed run keeps its interval, also with another limit.
	succeed(t, append(auto, "--resume", "--max-batches", "80", "-q")...)
	succeed(t, "train", "--out", "b", "--resume", "--max-batches", "80", "-q")
	if !bytes.Equal(weightsOf(t, "a"), weightsOf(t, "b")) {
		t.Error("the resumed runs differ")
	}
	if m := object(t, succeed(t, trainArgs("--eval-every", "auto", "--runs", "2", "--out", "c", "--json")...)); len(m["runs"].([]any)) != 2 {
		t.Errorf("%v", m)
	}
	for _, max := range []string{"80", "120"} { // another limit gives no other interval, with the flag and without
		succeed(t, trainArgs("--eval-every", "auto", "--runs", "2", "--out", "c", "--resume", "--max-batches", max, "-q")...)
		succeed(t, "train", "--out", "c", "--resume", "--max-batches", max, "-q")
	}
	fail(t, exitUsage, []string{"--eval-every", "auto"}, trainArgs("--eval-every", "often")...)
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/longtest"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// hostile is a name with control characters: to clear the screen, forge a line,
// set colours by one byte or one rune, change the direction of writing, overwrite
// the line and ring the bell. It ends in half a rune.
const hostile = "evil\x1b[2J\nforged  line\x9b31m\u009b31m\u202etxt\u2066\rgcn: fine\a\x7f\xe2\x82"

// printed checks that a text is safe to print, and returns it.
func printed(t *testing.T, text string) string {
	t.Helper()
	for k, r := range text {
		_, size := utf8.DecodeRuneInString(text[k:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("character %#x is printed, in %q", r, text)
			break
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "forged") {
			t.Errorf("a line is forged: %q", text)
		}
	}
	return text
}

// hostileStore writes a data set whose name and notes are hostile.
func hostileStore(t *testing.T, path string) {
	t.Helper()
	data, err := datasets.Open(t.Context(), smallData, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data.Name, data.Notes = hostile, append(data.Notes, "made by "+hostile, "b\tc")
	if err := datasets.WriteStore(t.Context(), path, data); err != nil {
		t.Fatal(err)
	}
}

// TestHostileData checks that names and notes from files are printed with their
// control characters escaped, and kept as they are in JSON.
func TestHostileData(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GCN_DATA", t.TempDir())
	hostileStore(t, "a.store")
	out := succeed(t, "datasets", "info", "store:a.store")
	text := printed(t, out.stdout)
	if !strings.Contains(text, `made by evil\x1b[2J\nforged  line�31m\u009b31m\u202etxt\u2066\rgcn: fine\a\u007f�`) {
		t.Errorf("the note is lost: %q", text)
	}
	plain := succeed(t, "datasets", "info", smallData)
	if strings.Count(text, "\n") != strings.Count(plain.stdout, "\n")+3 { // the origin, and two notes
		t.Errorf("want three lines more than\n%s\ngot\n%s", plain.stdout, text)
	}
	info := succeed(t, "datasets", "info", "store:a.store", "--json")
	printed(t, info.stdout)
	notes := object(t, info)["preprocessing"].([]any)
	if note := notes[len(notes)-2].(string); !strings.Contains(note, "\u009b31m\u202etxt\u2066\rgcn: fine\a\x7f") {
		t.Errorf("JSON holds another note: %q", note)
	}
}

// TestHostilePaths checks the same of paths, in results and in errors.
func TestHostilePaths(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GCN_DATA", t.TempDir())
	name := strings.ReplaceAll(hostile, "/", "")
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Skipf("this system refuses such names: %v", err)
	}
	hostileStore(t, filepath.Join(name, "a.store"))
	run := filepath.Join(name, "run")
	store := "store:" + filepath.Join(name, "a.store")
	for _, args := range [][]string{
		append([]string{"train", "--out", run}, quick...),
		append([]string{"train", "--out", run, "--resume"}, quick...),
		{"eval", "--run", run},
		{"eval", "--run", run, "--json"},
		{"eval", "--run", run, "--data", store},
		{"predict", "--run", run, "--out", filepath.Join(name, "scores.csv")},
		{"report", run, "--out", filepath.Join(name, "report.html"), "--tensorboard", filepath.Join(name, "logs")},
		{"datasets", "info", store},
		{"datasets", "verify", store},
		{"datasets", "convert", store, filepath.Join(name, "b.store")},
		{"study", "norms", "--data", store, "--out", name},
		{"study", "advise", store},
		{"train", "--out", run, "--data", "npy:" + name},
		append([]string{"train", "--out", run}, quick...),
		{"train", "--config", filepath.Join(name, "none.json")},
		{"eval", "--run", name},
		{"datasets", "info", "npy:" + name},
		{"datasets", "info", "edges:" + filepath.Join(name, "none")},
		{"datasets", "info", name},
		{"datasets", "info", name + ":x"},
		{"datasets", "info", "synth:demo?" + name + "=1"},
		{"datasets", "fetch", name},
		{"datasets", name},
		{"train", "--method", name},
		{"train", "--" + name},
		{"train", "--batch", name},
		{name},
		{"help", name},
		{"completion", name},
	} {
		out := gcn(t, args...)
		printed(t, out.stdout)
		printed(t, out.stderr)
		if errors := strings.Count(out.stderr, "\ngcn: ") + strings.Count(out.stderr[:min(5, len(out.stderr))], "gcn: "); errors != min(out.code, 1) {
			t.Errorf("gcn %.60q: exit code %d, %d lines of error: %q", args, out.code, errors, out.stderr)
		}
	}
}

// TestHostileConfig opens a run's folder whose config.json is hostile.
func TestHostileConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GCN_DATA", t.TempDir())
	hostileStore(t, "a.store")
	succeed(t, append([]string{"train", "--out", "run"}, quick...)...)
	var config map[string]any
	if err := json.Unmarshal(readFile(t, filepath.Join("run", rundir.ConfigFile)), &config); err != nil {
		t.Fatal(err)
	}
	for key, value := range config {
		if _, text := value.(string); !text {
			continue
		}
		config[key] = hostile
		changed, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		config[key] = value
		writeFile(t, filepath.Join("run", rundir.ConfigFile), changed)
		for _, args := range [][]string{{"eval", "--run", "run"}, {"eval", "--run", "run", "--data", smallData}, {"train", "--resume", "--out", "run"}, {"report", "run"}} {
			out := gcn(t, args...)
			printed(t, out.stdout)
			printed(t, out.stderr)
		}
	}
}

// TestHostileMirror checks that a mirror's answer is printed escaped.
func TestHostileMirror(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reason := strings.NewReplacer("\n", "", "\r", "").Replace(hostile)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096)) // any request
			fmt.Fprint(conn, "HTTP/1.1 404 ", reason, "\r\nContent-Length: 0\r\n\r\n")
			conn.Close()
		}
	}()
	out := gcn(t, "datasets", "info", "pubmed", "--cache", t.TempDir(), "--mirror", "http://"+listener.Addr().String())
	printed(t, out.stderr)
	if out.code != exitFailed || !strings.Contains(out.stderr, `404 evil\x1b[2Jforged`) {
		t.Errorf("exit code %d: %q", out.code, out.stderr)
	}
}

// brokenWriter fails every write.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestBrokenOutput checks that a command that cannot write its results fails with a
// message.
func TestBrokenOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GCN_DATA", t.TempDir())
	succeed(t, append([]string{"train", "--out", "run"}, quick...)...)
	small := []string{"--data", smallData}
	lines := [][]string{
		{"version"}, {"methods"}, {"recipes"}, {"datasets", "list"}, {"datasets", "info", smallData}, {"datasets", "verify", smallData},
		{"datasets", "convert", smallData, "a.store"},
		append([]string{"train", "--out", "again", "--overwrite"}, quick...),
		{"eval", "--run", "run"}, {"predict", "--run", "run", "--out", "scores.csv"}, {"report", "run"},
		append([]string{"bench", "sampling", "--methods", "full", "--batches", "1", "--batch", "8"}, small...),
		append([]string{"bench", "train", "--batches", "41", "--batch", "8", "--hidden", "8"}, small...),
		append([]string{"bench", "infer", "--hidden", "8", "--repetitions", "1"}, small...),
		append([]string{"study", "norms", "--hidden", "8"}, small...),
		{"study", "advise", smallData},
		{"reproduce", "sampling-time", "--data", smallData, "--samples", "16", "--config", smallReproduction(t, ""), "-q"},
	}
	for k := range len(lines) {
		if k%4 == 0 || longtest.Wanted() {
			lines = append(lines, append(slices.Clone(lines[k]), "--json"))
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		lines = append(lines, []string{"completion", shell})
	}
	root, _ := newRoot(&bytes.Buffer{}, &bytes.Buffer{})
	var help func(cmd *cobra.Command, path []string)
	help = func(cmd *cobra.Command, path []string) {
		lines = append(lines, append(slices.Clone(path), "--help"), append([]string{"help"}, path...))
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				help(c, append(slices.Clone(path), c.Name()))
			}
		}
	}
	help(root, nil)
	for _, args := range lines {
		var stderr bytes.Buffer
		if code := execute(t.Context(), args, brokenWriter{}, &stderr); code != exitFailed || !strings.Contains(lastLine(stderr.String()), "no room") {
			t.Errorf("gcn %s: exit code %d: %s", strings.Join(args, " "), code, stderr.String())
		}
	}
}

package rundir_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/rundir"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func open(t *testing.T, path string) *rundir.Folder {
	t.Helper()
	f, err := rundir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func check(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v, want %q", path, got, err, want)
	}
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "run")
	f := open(t, dir)
	if err := f.WriteJSON("a.json", []int{1}); err != nil {
		t.Fatal(err)
	}
	check(t, filepath.Join(dir, "a.json"), "[\n  1\n]\n")
	appended, err := f.Append("lines", []byte("one\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := appended.WriteString("two\n"); err != nil {
		t.Fatal(err)
	}
	if err := appended.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Read("lines"); err != nil || string(got) != "one\ntwo\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := f.Read("none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, "none")) {
		t.Errorf("no such file: %v", err)
	}
	if err := f.Remove("lines", "none"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read("lines"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after it was removed: %v", err)
	}
}

func TestFolderIsLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	f := open(t, dir)
	if _, err := rundir.Open(dir); !errors.Is(err, rundir.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second time: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left of a folder that was not written into, %v", left, err)
	}
	if err := open(t, dir).Write("a", text("")); err != nil {
		t.Fatal(err)
	}
}

// TestFolderMoves moves a locked folder, and puts another in its place: neither is written to.
func TestFolderMoves(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be moved there")
	}
	dir := filepath.Join(t.TempDir(), "run")
	f := open(t, dir)
	if err := f.Write("a", text("ours")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir)
	if err := other.Write("a", text("other's")); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{f.Write("a", text("more")), f.Remove("a")} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "moved") {
			t.Errorf("error %v", err)
		}
	}
	check(t, filepath.Join(dir, "a"), "other's")
	check(t, filepath.Join(dir+"-moved", "a"), "ours")
}

// TestFolderLosesLock removes the lock's file. Another process may then begin in
// the same folder.
func TestFolderLosesLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed there")
	}
	dir := filepath.Join(t.TempDir(), "run")
	f := open(t, dir)
	if err := f.Write("a", text("ours")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, ".lock")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // without a lock, and with another process's
		for _, err := range []error{f.Write("a", text("more")), f.Remove("a")} {
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, ".lock")) {
				t.Errorf("error %v", err)
			}
		}
		if other, err := rundir.Open(dir); err == nil {
			defer other.Close()
		}
	}
	check(t, filepath.Join(dir, "a"), "ours")
}

// TestFolderFollowsNoLink writes to links in the place of files.
func TestFolderFollowsNoLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	dir, outside := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "outside")
	f := open(t, dir)
	for _, name := range []string{"a", "b"} {
		if err := errors.Join(os.WriteFile(outside, []byte("kept"), 0o666), os.Symlink(outside, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Write("a", text("new")); err != nil {
		t.Fatal(err)
	}
	appended, err := f.Append("b", []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := appended.WriteString("er"); err != nil {
		t.Fatal(err)
	}
	if err := appended.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, filepath.Join(dir, "a"), "new")
	check(t, filepath.Join(dir, "b"), "newer")
	check(t, outside, "kept")
}

// A configuration of another schema, or of none, is refused.
func TestSchema(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "schema": 5}`:   "",
		`{"a": 1, "schema": 1}`:   "its schema is 1 and this program's is 5: train again, or use the program that wrote it",
		`{"a": 1, "schema": 4}`:   "its schema is 4 and",
		`{"a": 1, "schema": "4"}`: `its schema is "4" and`,
		`{"a": 1}`:                "its schema is not set and",
	} {
		m, err := rundir.DecodeConfig([]byte(text))
		if want == "" && (err != nil || len(m) != 2) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v, want %q", text, m, err, want)
		}
	}
}

func TestSameConfig(t *testing.T) {
	through := func(m map[string]any) map[string]any {
		m, err := rundir.ThroughJSON(m)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := through(map[string]any{"a": 1, "seed": uint64(1<<64 - 1), "free": 1})
	for want, now := range map[string]map[string]any{
		"":                              {"a": 1, "seed": uint64(1<<64 - 1), "free": 2},
		"a was 1 and is now 2":          {"a": 2, "seed": 3},
		"a was 1 and is now not set":    {"seed": 3},
		"b was not set and is now true": {"a": 1, "b": true, "seed": 3},
		"seed was 18446744073709551615 and is now 18446744073709551614": {"a": 1, "seed": uint64(1<<64 - 2)},
	} {
		err := rundir.SameConfig(before, through(now), "free")
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// Numbers keep all digits of their texts.
	for _, c := range []struct {
		before, now string
		same        bool
	}{
		{"[1, 0.5]", "[1,0.5]", true},
		{`{"a": 0.5}`, `{"a":0.5}`, true},
		{"0.5", "0.51", false},
		{"[1, 2]", "[1]", false},
		{`"0.5"`, `"0.50"`, false},
		{`"0.5"`, "0.5", false},
		{"9007199254740992", "9007199254740993", false}, // equal as float64
	} {
		read := func(value string) map[string]any {
			m, err := rundir.DecodeObject([]byte(`{"v": ` + value + `}`))
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		if got := rundir.SameConfig(read(c.before), read(c.now)) == nil; got != c.same {
			t.Errorf("%s and %s: same %v, want %v", c.before, c.now, got, c.same)
		}
	}
	for _, text := range []string{"", "null", "[]", "{} {}", "{", "{}"} {
		if m, err := rundir.DecodeConfig([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, m)
		}
	}
}

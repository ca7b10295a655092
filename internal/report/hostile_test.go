package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// wantDrawn fails the test unless every SVG element in the page is well-formed,
// has finite coordinates, and has few marks.
func wantDrawn(t *testing.T, page string) {
	t.Helper()
	for _, words := range []string{"NaN", "Inf"} {
		if strings.Contains(page, words) {
			t.Errorf("the page holds %s", words)
		}
	}
	charts := 0
	for rest := page; ; charts++ {
		from := strings.Index(rest, "<svg ")
		if from < 0 {
			break
		}
		text, after, found := strings.Cut(rest[from:], "</svg>")
		if !found {
			t.Fatal("an svg element without an end")
		}
		wantWellFormed(t, text+"</svg>")
		rest = after
	}
	if charts == 0 {
		t.Error("no charts")
	}
	if len(page) > 100_000 {
		t.Errorf("a page of %d bytes", len(page))
	}
}

func wantWellFormed(t *testing.T, svg string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Errorf("%v in %s", err, svg)
			return
		}
	}
}

func pageOf(t *testing.T, title string, dirs ...string) string {
	t.Helper()
	runs, err := Load(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (&Page{Title: title, Runs: runs}).Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostileScores draws scores that are equal, nearly equal, huge, tiny, or not
// numbers. The mean of three times 0.1 is one ulp above 0.1.
func TestHostileScores(t *testing.T) {
	for name, scores := range map[string][]string{
		"alike":        {"0.1", "0.1", "0.1"},
		"also alike":   {"0.35", "0.35", "0.35"},
		"one ulp":      {"0.1", "0.10000000000000002"},
		"one run":      {"0.5"},
		"zero":         {"0", "0"},
		"none":         {"null", "null"},
		"one of two":   {"null", "0.5"},
		"huge":         {"1.7e308", "-1.7e308"},
		"denormal":     {"5e-324", "1e-310"},
		"out of range": {"1e999", "0.5"},
		"far apart":    {"1e-300", "1e290"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for seed, score := range scores {
				valid := strings.ReplaceAll(score, "1e999", "null") // metrics.jsonl holds null for it
				metrics := fmt.Sprintf(`{"batch":10,"loss":%s,"valid":%s,"seconds":0.5}
{"batch":20,"loss":%s,"valid":%s,"seconds":0.5}
`, valid, valid, valid, valid)
				writeRun(t, filepath.Join(dir, fmt.Sprint(seed)), fmt.Sprintf(`{"method":"ladies","seed":%d}`, seed), metrics,
					fmt.Sprintf(`{"test":%s,"best_valid":%s,"train_ms_per_batch":%s}`, score, score, score))
			}
			wantDrawn(t, pageOf(t, name, dir))
		})
	}
}

// TestHostileNames checks that names of folders, methods and titles are escaped on
// the page and in its charts.
func TestHostileNames(t *testing.T) {
	const name = "</title></text><script>alert(1)</script>&\"'\x1b[31m\x00\u202e\xff<img src=x>"
	dir := filepath.Join(t.TempDir(), strings.NewReplacer("/", "∕", "\x00", "").Replace(name))
	config := `{"data":"</td><script>","method":"<script>\u001b[2J\u0000</text>","metric":"\"><script>\u0007","note</script>":"<img src=x onerror=y>","seed":1}`
	writeRun(t, filepath.Join(dir, "a"), config, curve, `{"test":0.5,"best_valid":0.5,"stop":"<script>","metric":"\"><script>\u0007"}`)
	writeRun(t, filepath.Join(dir, "b"), "", curve, `{"test":0.5}`)
	page := pageOf(t, name, dir)
	wantDrawn(t, page)
	for _, raw := range []string{"<script", "<img", "\x1b", "\x00", "\x07", "</title></text>"} {
		if strings.Contains(page, raw) {
			t.Errorf("the page holds %q", raw)
		}
	}
	if !strings.Contains(page, "alert(1)") {
		t.Error("the page does not show the title")
	}
}

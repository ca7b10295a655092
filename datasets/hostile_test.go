package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// memoryError is a part of the errors about sizes that do not fit in memory.
const memoryError = "memory, this process may take "

// hostileFiles writes files to dir that claim more memory than any machine has, or need
// it when they are unpacked. It returns their SPECs, each with a part of its error.
func hostileFiles(t testing.TB, dir string) map[string]string {
	const large = 1 << 26
	file := func(name string, content []byte) { write(t, filepath.Join(dir, filepath.FromSlash(name)), content) }
	// packed writes a gzip file of head and of so many bytes more.
	packed := func(name, head, repeated string, size int) {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if err == nil {
			_, err = z.Write([]byte(head))
		}
		piece := []byte(strings.Repeat(repeated, 1<<20/len(repeated)))
		for ; size > 0 && err == nil; size -= len(piece) {
			_, err = z.Write(piece)
		}
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		file(name, b.Bytes())
	}
	file("e.csv", []byte("0,1\n1,2\n"))
	packed("many.csv.gz", "", "0,1\n", 3*large)
	packed("long.csv.gz", "", "a,", large)
	packed("long.json.gz", `{"0": [`, "1,", large)
	packed("text.json.gz", `{"0": "`, "a", large)
	packed("deep-G.json", `{"x": `, "[", large)
	var kinds bytes.Buffer
	for i := range 1<<20 + 1 {
		fmt.Fprintln(&kinds, i)
	}
	file("kinds.csv", kinds.Bytes())

	d := made(t, 20, 1)
	ogb := ogbTexts(d)
	delete(ogb, "raw/node-feat")
	ogb["raw/num-node-list"], ogb["raw/node-label"] = "1000000\n", strings.Repeat("0\n", 1_000_000)
	ogb["raw/edge"], ogb["raw/edge-feat"] = "0,1\n", strings.Repeat("0,", 2_000_000)+"0\n"
	writeTexts(t, filepath.Join(dir, "wide"), ogb)

	arrays := npyFiles(t, d)
	arrays["indptr.npy"], arrays["indices.npy"], arrays["labels.npy"] = array(t, []int64{0}), array(t, []int64{}), array(t, []int64{})
	arrays["feat.npy"] = fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n", "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 1000000000000000000)}")
	writeFiles(t, filepath.Join(dir, "fortran"), arrays)

	for name, pickle := range map[string]string{
		"digits": "\x80\x02L" + strings.Repeat("9", 20_000_000) + "L\n.",
		"class":  "\x80\x02c" + strings.Repeat("x", 20_000_000) + "\ny\n.",
		"tuples": "\x80\x02" + strings.Repeat("(t", 50_000_000) + ".",
	} {
		files := planetoidFiles(t, d)
		files["ind.made.allx"] = []byte(pickle)
		writeFiles(t, filepath.Join(dir, name), files)
	}

	d.Labels.Classes = 100_000_000
	store := filepath.Join(dir, "classes.store")
	if err := writeStore(context.Background(), store, d, nil, &Options{}); err != nil {
		t.Fatal(err)
	}
	in := func(spec string) string { return strings.ReplaceAll(spec, "D/", dir+"/") }
	return map[string]string{
		in("edges:D/many.csv.gz?labels=D/e.csv"):         "many.csv.gz: reading it would take",
		in("edges:D/e.csv?labels=D/long.csv.gz"):         "long.csv.gz:1: line of more than 16777216 bytes",
		in("edges:D/e.csv?labels=D/long.json.gz"):        `long.json.gz: byte 4, node 0: a value of more than 16777216 bytes`,
		in("edges:D/e.csv?labels=D/text.json.gz"):        `text.json.gz: byte 4, node 0: a value of more than 16777216 bytes`,
		in("edges:D/e.csv?labels=D/kinds.csv"):           "kinds.csv: 1048577 classes, more than the 1048576",
		in("sage:D/deep"):                                `deep-G.json: byte 4, "/x": exceeded max depth`,
		in("ogb:D/wide"):                                 "edge-feat.csv.gz: the means of 2000001 features for 1000000 nodes would take 24 TB of " + memoryError,
		in("npy:D/fortran"):                              "labels.npy: no labels",
		in("planetoid:D/digits/made"):                    "value out of range",
		in("planetoid:D/class/made"):                     `ind.made.allx: byte 2: class "y" of module "xxx`,
		in("planetoid:D/tuples/made"):                    "its values would take",
		"store:" + store:                                 "classes.store: 100000000 classes for 20 nodes",
		"synth:demo?nodes=2147483647":                    "synth:demo of 2147483647 nodes and 16106127353 edges would take 1.19 TB of " + memoryError,
		"synth:proteins?classes=65536":                   memoryError,
		"synth:demo?classes=65536&features=65536":        memoryError,
		"synth:demo?nodes=100000&edges=4000000000":       memoryError,
		"synth:products?features=20000&nodes=2000000000": memoryError,
	}
}

// A process with 3 GB of address space refuses hostile files with an error of one line.
// It must not run out of memory, which would print a trace.
func TestHostileFiles(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("unpacks large files")
	case !haveLimits:
		t.Skip("this system has no limit of address space")
	case raceDetector:
		t.Skip("the race detector's own memory does not fit under a limit")
	}
	for spec, want := range hostileFiles(t, t.TempDir()) {
		t.Run(spec[strings.LastIndex(spec, "/")+1:], func(t *testing.T) {
			command := exec.Command(os.Args[0])
			command.Env = append(os.Environ(), "DATASETS_TEST_CHILD=open 3000000000 "+spec)
			text, err := command.CombinedOutput()
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("ended with %v: %.500s", err, text)
			}
			line := strings.TrimSuffix(string(text), "\n")
			if strings.Contains(line, "\n") || len(line) > 1000 || !strings.Contains(line, want) {
				t.Errorf("error %.500q\nlacks %q", line, want)
			}
		})
	}
}

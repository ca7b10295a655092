package table

import (
	"bytes"
	"fmt"
	"strings"
)

// Lines of Python that convert the file FILE.
const (
	toEdges   = `import networkx as nx; nx.write_edgelist(nx.%s("FILE"), "edges.txt")`
	jsonEdges = `import json, networkx as nx; nx.write_edgelist(nx.%s(json.load(open("FILE"))), "edges.txt")`
	toTable   = `import json, pandas as pd; pd.DataFrame(json.load(open("FILE"))).to_csv("table.csv", index=False)`
	cooEdges  = `open("edges.csv", "w").writelines(f"{u},{v}\n" for u, v in zip(m.row, m.col))`
	toUTF8    = `open("table.csv", "wb").write(open("FILE", encoding=%q).read().encode())`
)

// foreignFormats lists formats that are not read, the more special ones first: how a file
// starts, blanks aside; what else its first bytes hold; the name; and the lines that convert it.
var foreignFormats = [][4]string{
	{"PAR1", "", "Parquet", `import pandas as pd; pd.read_parquet("FILE").to_csv("table.csv", index=False)`},
	{"\x89HDF", "", "HDF5", `import pandas as pd; pd.read_hdf("FILE").to_csv("table.csv")`},
	{"PK\x03\x04", ".npy", "a NumPy archive", `import scipy.sparse as sp; m = sp.load_npz("FILE").tocoo(); ` + cooEdges},
	{"PK\x03\x04", "", "a zip archive", `import zipfile; zipfile.ZipFile("FILE").extractall()`},
	{"\x93NUMPY", "", "a NumPy array", `import os; os.rename("FILE", "array.npy")`},
	{"BZh", "", "bzip2", `import bz2; open("table.csv", "wb").write(bz2.open("FILE").read())`},
	{"\xfd7zXZ", "", "xz", `import lzma; open("table.csv", "wb").write(lzma.open("FILE").read())`},
	{"\xff\xfe", "", "text in UTF-16", fmt.Sprintf(toUTF8, "utf-16")},
	{"\xfe\xff", "", "text in UTF-16", fmt.Sprintf(toUTF8, "utf-16")},
	{"\x00\x00\xfe\xff", "", "text in UTF-32", fmt.Sprintf(toUTF8, "utf-32")},
	{"%%MatrixMarket", "", "MatrixMarket", `import scipy.io; m = scipy.io.mmread("FILE").tocoo(); open("edges.csv", "w").writelines(f"{u},{v},{w}\n" for u, v, w in zip(m.row, m.col, m.data))`},
	{"<", "<graphml", "GraphML", fmt.Sprintf(toEdges, "read_graphml")},
	{"<", "<gexf", "GEXF", fmt.Sprintf(toEdges, "read_gexf")},
	{"graph", "[", "GML", fmt.Sprintf(toEdges, "read_gml")},
	{"Creator", "graph", "GML", fmt.Sprintf(toEdges, "read_gml")},

	// JSON is read for labels and lists of features only.
	{"{", `"adjacency"`, "adjacency JSON", fmt.Sprintf(jsonEdges, "adjacency_graph")},
	{"{", `"nodes"`, "node-link JSON", fmt.Sprintf(jsonEdges, "node_link_graph")},
	{"{", `"links"`, "node-link JSON", fmt.Sprintf(jsonEdges, "node_link_graph")},
	{"{", "", "JSON", toTable},
	{"[", "", "JSON", toTable},
}

// addCoded adds a line that is not in UTF-8.
func (f *Faults) addCoded(number int64, line []byte) {
	f.Hint = ": convert it in Python: " + strings.ReplaceAll(fmt.Sprintf(toUTF8, "latin-1"), "FILE", f.Path)
	f.Add(number, "%.40q is not text in UTF-8", line)
}

// recognise reports the beginning of a file that is in a foreign format. A table is no JSON,
// unless a cell begins with a bracket.
func recognise(path string, start []byte, table bool) error {
	line, _, _ := bytes.Cut(start, []byte{'\n'})
	cells := bytes.Contains(line, []byte{','}) && !bytes.ContainsAny(line, `":`)
	start = bytes.TrimLeft(start, " \t\r\n")
	for _, f := range foreignFormats {
		isJSON := f[0] == "{" || f[0] == "["
		if bytes.HasPrefix(start, []byte(f[0])) && bytes.Contains(start, []byte(f[1])) && (!isJSON || table && !cells) {
			return fmt.Errorf("this is %s, which is not read here: convert it in Python: %s", f[2], strings.ReplaceAll(f[3], "FILE", path))
		}
	}
	return nil
}

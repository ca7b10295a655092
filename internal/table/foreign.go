package table

import (
	"bytes"
	"fmt"
	"strings"
)

// foreign is a format that is not read as text, by its first bytes.
type foreign struct {
	start string // what a file of the format starts with, blanks aside
	holds string // what else its first bytes hold; "" for nothing
	name  string
	lines string // Python that converts the file FILE
}

const toEdges = `import networkx as nx; nx.write_edgelist(nx.%s("FILE"), "edges.txt")`

// foreignFormats lists the formats, the more special ones first.
var foreignFormats = []foreign{
	{"PAR1", "", "Parquet", `import pandas as pd; pd.read_parquet("FILE").to_csv("table.csv", index=False)`},
	{"\x89HDF", "", "HDF5", `import pandas as pd; pd.read_hdf("FILE").to_csv("table.csv")`},
	{"PK\x03\x04", ".npy", "a NumPy archive", `import scipy.sparse as sp; m = sp.load_npz("FILE").tocoo(); open("edges.csv", "w").writelines(f"{u},{v}\n" for u, v in zip(m.row, m.col))`},
	{"PK\x03\x04", "", "a zip archive", `import zipfile; zipfile.ZipFile("FILE").extractall()`},
	{"\x93NUMPY", "", "a NumPy array", `import os; os.rename("FILE", "array.npy")`},
	{"BZh", "", "bzip2", `import bz2; open("table.csv", "wb").write(bz2.open("FILE").read())`},
	{"\xfd7zXZ", "", "xz", `import lzma; open("table.csv", "wb").write(lzma.open("FILE").read())`},
	{"%%MatrixMarket", "", "MatrixMarket", `import scipy.io; m = scipy.io.mmread("FILE").tocoo(); open("edges.csv", "w").writelines(f"{u},{v},{w}\n" for u, v, w in zip(m.row, m.col, m.data))`},
	{"<", "<graphml", "GraphML", fmt.Sprintf(toEdges, "read_graphml")},
	{"<", "<gexf", "GEXF", fmt.Sprintf(toEdges, "read_gexf")},
	{"graph", "[", "GML", fmt.Sprintf(toEdges, "read_gml")},
	{"Creator", "graph", "GML", fmt.Sprintf(toEdges, "read_gml")},
}

// jsonFormats are graphs in JSON, which is read for labels and lists of features only.
var jsonFormats = []foreign{
	{"{", `"adjacency"`, "adjacency JSON", `import json, networkx as nx; nx.write_edgelist(nx.adjacency_graph(json.load(open("FILE"))), "edges.txt")`},
	{"{", `"nodes"`, "node-link JSON", `import json, networkx as nx; nx.write_edgelist(nx.node_link_graph(json.load(open("FILE"))), "edges.txt")`},
	{"{", `"links"`, "node-link JSON", `import json, networkx as nx; nx.write_edgelist(nx.node_link_graph(json.load(open("FILE"))), "edges.txt")`},
	{"{", "", "JSON", `import json, pandas as pd; pd.DataFrame(json.load(open("FILE"))).to_csv("table.csv", index=False)`},
	{"[", "", "JSON", `import json, pandas as pd; pd.DataFrame(json.load(open("FILE"))).to_csv("table.csv", index=False)`},
}

// CheckTable reports a graph in JSON, which is no table of cells.
func (f *File) CheckTable() error {
	f.begin()
	start := f.head.Data
	line, _, _ := bytes.Cut(start, []byte{'\n'})
	if bytes.Contains(line, []byte{','}) && !bytes.ContainsAny(line, `":`) {
		return nil // a name that begins with a bracket
	}
	if err := recognise(f.Path, start[:min(len(start), 4096)], jsonFormats); err != nil {
		return fmt.Errorf("datasets: %s: %w", f.Path, err)
	}
	return nil
}

// recognise reports a text that is in a foreign format.
func recognise(path string, start []byte, formats []foreign) error {
	start = bytes.TrimLeft(start, " \t\r\n")
	for _, k := range formats {
		if bytes.HasPrefix(start, []byte(k.start)) && bytes.Contains(start, []byte(k.holds)) {
			return fmt.Errorf("this is %s, which is not read here: convert it in Python: %s", k.name, strings.ReplaceAll(k.lines, "FILE", path))
		}
	}
	return nil
}

package datasets

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Precision is the number format of features.
type Precision string

// The precisions. Float16 is IEEE 754 half precision: half the bytes, about three
// decimal digits, magnitudes up to 65,504.
const (
	Float32 Precision = "float32"
	Float16 Precision = "float16"
)

// check reports a text that is neither a precision nor "", which changes nothing.
func (p Precision) check() error {
	if p != "" && p != Float32 && p != Float16 {
		return fmt.Errorf("datasets: features as %q: want %s or %s", string(p), Float32, Float16)
	}
	return nil
}

// WriteStore validates a data set and writes it as a store, without changing the
// precision of the features. The file appears whole or not at all: an existing file
// is replaced only once the new one is complete, and processes that have the old one
// open keep it. Data without labels are an error. Cost: one pass over the data to check
// them, one to write them, and 8 bytes of memory a node.
func WriteStore(ctx context.Context, path string, d *Data) error {
	return writeStoreAs(ctx, path, d, "", nil)
}

// writeStoreAs is WriteStore in the given precision. propagated, if not nil, writes the
// propagated features.
func writeStoreAs(ctx context.Context, path string, d *Data, p Precision, propagated func(*storeWriter) error) error {
	if err := d.validate(ctx); err != nil {
		return err
	}
	if err := d.checkLabelled(); err != nil {
		return err
	}
	if p == Float16 && d.Features.Sparse != nil {
		return fmt.Errorf("datasets: %s: float16 is for dense features, and these are sparse: leave it out, or add sparse=0 to the SPEC", path)
	}
	rounded := p == Float16 && d.Features.Half == nil
	if p == "" && d.Features.Half != nil {
		p = Float16
	}
	parts := d.graphParts()
	parts.features = func(w *storeWriter) error { return w.features(d.Features) }
	parts.propagated = propagated
	return writeStore(ctx, path, d, p, rounded, parts)
}

// storeParts write the large parts of a store. They have the sizes that the data's graph
// and features give.
type storeParts struct {
	entries    int64 // of the graph
	ptr, idx   func(*storeWriter) error
	features   func(*storeWriter) error
	propagated func(*storeWriter) error // nil: none
}

// graphParts writes the graph from memory.
func (d *Data) graphParts() storeParts {
	return storeParts{entries: d.Graph.NNZ(), ptr: numbersOf(d.Graph.Ptr), idx: numbersOf(d.Graph.Idx[:d.Graph.NNZ()])}
}

// writeStore writes a store. rounded says that the features lose digits.
func writeStore(ctx context.Context, path string, d *Data, p Precision, rounded bool, parts storeParts) error {
	err := atomicfile.WriteFile(path, func(f *os.File) error {
		w := &storeWriter{ctx: ctx, file: f, half: p == Float16, rounded: rounded, cols: d.Features.Cols}
		return w.writeAll(d, parts)
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

// storeWriter writes sections one after the other.
type storeWriter struct {
	ctx      context.Context
	file     *os.File
	at       uint64
	sections []section

	half    bool // write features in half precision
	rounded bool // the features were not in half precision before
	cols    int  // of the features

	checksum uint32   // of the current section
	buffer   []byte   // for swapping bytes on big-endian machines
	halves   []uint16 // for rounding a piece of the features

	// finished holds the checksums of the sections that an interrupted conversion has
	// written. They are not written again.
	finished []uint32
	// written, if not nil, is called after each section that is written.
	written func(sectionKind) error
}

func (w *storeWriter) writeAll(d *Data, parts storeParts) error {
	notes := d.notesWithSource()
	if w.rounded {
		notes = append(slices.Clone(notes), "features rounded to float16")
	}
	sparse, dense, columns := d.Features.Sparse, uint64(d.Nodes()), 0
	if sparse != nil {
		dense, columns = 0, sparse.Cols
	} else {
		sparse = &graph.CSR{}
	}
	meta, err := json.Marshal(storeMeta{
		Source: d.sourceName(), Metric: d.Metric, Classes: d.Labels.Classes, Tasks: d.Labels.Tasks, Notes: notes,
		Given: d.Report.Given, SelfLoops: d.Report.SelfLoops, Duplicates: d.Report.Duplicates, Edges: d.Report.Edges,
		ClassNames: d.Labels.Names, Directed: d.Directed, Columns: columns,
	})
	if err != nil {
		return err
	}
	if len(meta) > mostMeta {
		return fmt.Errorf("notes and names of classes of %d bytes, at most %d are stored", len(meta), mostMeta)
	}
	names := cmp.Or(d.NodeNames, &graph.Names{})
	n, rowsPropagated := uint64(d.Nodes()), uint64(0)
	if parts.propagated != nil {
		rowsPropagated = n
	}
	plan := []struct {
		kind       sectionKind
		rows, cols uint64
		write      func(*storeWriter) error
	}{
		{sectionMeta, uint64(len(meta)), 1, numbersOf(meta)},
		{sectionPtr, n + 1, 1, parts.ptr},
		{sectionIdx, uint64(parts.entries), 1, parts.idx},
		{sectionVal, uint64(len(d.Graph.Val)), 1, numbersOf(d.Graph.Val)},
		{sectionFeatures, dense, uint64(d.Features.Cols), parts.features},
		{sectionClass, uint64(len(d.Labels.Class)), 1, numbersOf(d.Labels.Class)},
		{sectionTasks, uint64(len(d.Labels.Multi)) / uint64(max(d.Labels.Tasks, 1)), uint64(max(d.Labels.Tasks, 1)), numbersOf(d.Labels.Multi)},
		{sectionTrain, uint64(len(d.Split.Train)), 1, numbersOf(d.Split.Train)},
		{sectionValid, uint64(len(d.Split.Valid)), 1, numbersOf(d.Split.Valid)},
		{sectionTest, uint64(len(d.Split.Test)), 1, numbersOf(d.Split.Test)},
		{sectionPropagated, rowsPropagated, uint64(d.Features.Cols), parts.propagated},
		{sectionNames, uint64(len(names.Text)), 1, numbersOf(names.Text)},
		{sectionNameEnds, uint64(len(names.Ends)), 1, numbersOf(names.Ends)},
		{sectionSparsePtr, uint64(len(sparse.Ptr)), 1, numbersOf(sparse.Ptr)},
		{sectionSparseIdx, uint64(sparse.NNZ()), 1, numbersOf(sparse.Idx[:sparse.NNZ()])},
		{sectionSparseVal, uint64(len(sparse.Val)), 1, numbersOf(sparse.Val)},
	}
	count := 0
	for _, s := range plan {
		if s.rows > 0 {
			count++
		}
	}
	w.at = headerBytes + entryBytes*uint64(count)
	if _, err := w.file.Seek(int64(w.at), io.SeekStart); err != nil {
		return err
	}
	for _, s := range plan {
		if s.rows == 0 {
			continue // empty sections are omitted
		}
		if err := w.section(s.kind, s.rows, s.cols, s.write); err != nil {
			return err
		}
	}
	// With the header the file becomes a store.
	if _, err := w.file.WriteAt(encodeHeader(w.at, w.sections, d.Directed), 0); err != nil {
		return err
	}
	return nil
}

// section writes one section; write writes its bytes.
func (w *storeWriter) section(kind sectionKind, rows, cols uint64, write func(*storeWriter) error) error {
	padding := -w.at % storeAlign
	s := section{kind: kind, element: kind.element(), rows: rows, cols: cols, offset: w.at + padding}
	if kind.features() && w.half {
		s.element = elementFloat16
	}
	s.bytes = rows * cols * s.element.size()
	if k := len(w.sections); k < len(w.finished) {
		s.checksum, w.at = w.finished[k], s.offset+s.bytes
		w.sections = append(w.sections, s)
		_, err := w.file.Seek(int64(w.at), io.SeekStart)
		return err
	}
	if _, err := w.file.Write(make([]byte, padding)); err != nil {
		return err
	}
	w.at += padding
	w.checksum = 0
	if err := write(w); err != nil {
		return err
	}
	if w.at != s.offset+s.bytes {
		return fmt.Errorf("%v: %d bytes written for %d×%d elements", kind, w.at-s.offset, rows, cols)
	}
	s.checksum = w.checksum
	w.sections = append(w.sections, s)
	if w.written == nil {
		return nil
	}
	return w.written(kind)
}

// features writes all features.
func (w *storeWriter) features(x *graph.Features) error {
	if x.Half == nil {
		return w.floats(x.Data, 0)
	}
	if w.half {
		return writeNumbers(w, x.Half)
	}
	wide := make([]float32, min(featurePiece, len(x.Half)))
	for from := 0; from < len(x.Half); from += featurePiece {
		part := x.Half[from:min(from+featurePiece, len(x.Half))]
		kernel.Widen(wide, part)
		if err := writeNumbers(w, wide[:len(part)]); err != nil {
			return err
		}
	}
	return nil
}

const featurePiece = 1 << 20 // features converted at a time

// floats writes features in the precision of w. The first value has index first among
// all features.
func (w *storeWriter) floats(values []float32, first int) error {
	if !w.half {
		return writeNumbers(w, values)
	}
	for from := 0; from < len(values); from += featurePiece {
		part := values[from:min(from+featurePiece, len(values))]
		w.halves = slices.Grow(w.halves[:0], len(part))[:len(part)]
		if k := graph.Narrow(w.halves, part); k >= 0 {
			at := first + from + k
			return fmt.Errorf("feature %d of node %d is %v, beyond the ±%d of float16: %w", at%w.cols, at/w.cols, part[k], half.Most, graph.ErrInvalid)
		}
		if err := writeNumbers(w, w.halves); err != nil {
			return err
		}
	}
	return nil
}

func numbersOf[T number](values []T) func(*storeWriter) error {
	return func(w *storeWriter) error { return writeNumbers(w, values) }
}

// writeNumbers adds numbers to the current section. It writes them in pieces, so that
// cancelling does not wait for the disk.
func writeNumbers[T number](w *storeWriter, values []T) error {
	const piece = 1 << 22
	b := byteView(values)
	for len(b) > 0 {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		part := b[:min(piece, len(b))]
		b = b[len(part):]
		if !littleEndian() {
			w.buffer = append(w.buffer[:0], part...)
			swapBytes(w.buffer, uint64(len(byteView(values[:1]))))
			part = w.buffer
		}
		w.checksum = crc32.Update(w.checksum, castagnoli(), part)
		n, err := w.file.Write(part)
		w.at += uint64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// sourceName returns the SPEC of the original data.
func (d *Data) sourceName() string {
	if d.source != "" {
		return d.source
	}
	return d.Name
}

// notesWithSource returns the notes for a copy in another format.
func (d *Data) notesWithSource() []string {
	if d.source != "" || d.Name == "" {
		return d.Notes
	}
	return append([]string{"made from " + d.Name}, d.Notes...)
}

package table

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetColumn is a leaf column of a Parquet file.
type parquetColumn struct {
	place    int // among the cells; −1: left out
	unsigned bool
}

// openParquet reads the description of the columns.
func (f *File) openParquet() (err error) {
	defer recovered(&err)
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.OpenFile(f.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	rows, columns, buffer := parquet.MultiRowGroup(file.RowGroups()...).Rows(), []parquetColumn(nil), make([]parquet.Row, 64)
	for _, path := range file.Schema().Columns() {
		leaf, _ := file.Schema().Lookup(path...)
		column := parquetColumn{place: -1}
		if len(path) == 1 && !leaf.Node.Repeated() {
			column.place = len(f.First)
			f.First = append(f.First, []byte(path[0]))
		} else if !slices.Contains(f.LeftOut, path[0]) {
			f.LeftOut = append(f.LeftOut, path[0])
		}
		if logical := leaf.Node.Type().LogicalType(); logical != nil && column.place >= 0 {
			switch v := logical.Value.(type) {
			case *format.IntType:
				column.unsigned = !v.IsSigned
			case *format.DecimalType:
				return fmt.Errorf("column %q holds decimal numbers, which are not read: save it as float64", path[0])
			}
		}
		if kind := leaf.Node.Type().Kind(); column.place >= 0 && (kind == parquet.Int96 || kind == parquet.FixedLenByteArray) {
			return fmt.Errorf("column %q holds values of type %v, which are not read: save it as numbers or texts", path[0], kind)
		}
		columns = append(columns, column)
	}
	if len(f.First) == 0 {
		return fmt.Errorf("a Parquet file without columns of numbers or texts, but with %.200q", strings.Join(f.LeftOut, ", "))
	}
	f.Parquet, f.Sep, f.source = true, unit, func() (Block, error) { return f.nextRows(rows, columns, buffer) }
	return nil
}

// recovered turns a panic of the Parquet library, which damaged files cause, into an error.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("damaged Parquet file: %.100v", cause)
	}
}

// nextRows writes rows of a Parquet file as lines of text: numbers in the shortest form that gives
// them back, True and False, nothing for a value that is null. Line breaks in texts become blanks.
// Columns of lists and records are left out.
func (f *File) nextRows(rows parquet.Rows, columns []parquetColumn, buffer []parquet.Row) (b Block, err error) {
	defer func() {
		if err != nil && err != io.EOF {
			err = fmt.Errorf("datasets: %s: after row %d: %w", f.Path, f.number-1, err)
		}
	}()
	defer recovered(&err)
	b = Block{Number: f.number}
	for len(b.Data) < blockSize && err == nil {
		var n int
		n, err = rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			for _, v := range row { // in the order of the columns
				c := columns[v.Column()]
				if c.place > 0 {
					b.Data = append(b.Data, unit)
				}
				if c.place >= 0 && !v.IsNull() {
					b.Data = appendValue(b.Data, v, c.unsigned)
				}
			}
			b.Data = append(b.Data, '\n')
			f.number++
		}
	}
	if err == io.EOF && len(b.Data) > 0 {
		err = nil // it comes again
	}
	return b, err
}

func appendValue(cell []byte, v parquet.Value, unsigned bool) []byte {
	switch kind := v.Kind(); {
	case kind == parquet.Boolean && v.Boolean():
		return append(cell, "True"...)
	case kind == parquet.Boolean:
		return append(cell, "False"...)
	case kind == parquet.Int32 && unsigned:
		return strconv.AppendUint(cell, uint64(v.Uint32()), 10)
	case kind == parquet.Int64 && unsigned:
		return strconv.AppendUint(cell, v.Uint64(), 10)
	}
	from := len(cell)
	cell = append(cell, v.String()...)
	for k, c := range cell[from:] {
		if c == '\n' || c == '\r' || c == unit { // they would end a cell or a line
			cell[from+k] = ' '
		}
	}
	return cell
}

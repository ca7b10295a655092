package table

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetSource writes the rows of a Parquet file as lines of text: numbers in the shortest
// form that gives them back, True and False, nothing for a value that is null. Line breaks in
// texts become blanks. Columns of lists and records are left out.
type parquetSource struct {
	f      *File
	groups []parquet.RowGroup
	rows   parquet.Rows // of the first group; nil before it is opened
	buffer []parquet.Row
	number int64

	names    [][]byte
	place    []int  // among the names, of each leaf column of the file; −1: left out
	unsigned []bool // of each leaf column
}

// openParquet reads the description of the columns.
func openParquet(f *File) (s *parquetSource, err error) {
	defer recovered(&err)
	info, err := f.file.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(f.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	s = &parquetSource{f: f, groups: file.RowGroups(), buffer: make([]parquet.Row, 64), number: 1}
	for _, column := range file.Root().Columns() {
		if !column.Leaf() || column.Repeated() {
			f.LeftOut = append(f.LeftOut, column.Name())
			for range leaves(column) {
				s.place, s.unsigned = append(s.place, -1), append(s.unsigned, false)
			}
			continue
		}
		unsigned := false
		if logical := column.Type().LogicalType(); logical != nil {
			switch v := logical.Value.(type) {
			case *format.IntType:
				unsigned = !v.IsSigned
			case *format.DecimalType:
				return nil, fmt.Errorf("column %q holds decimal numbers, which are not read: save it as float64", column.Name())
			}
		}
		s.place, s.unsigned = append(s.place, len(s.names)), append(s.unsigned, unsigned)
		s.names = append(s.names, []byte(column.Name()))
	}
	if len(s.names) == 0 {
		return nil, fmt.Errorf("a Parquet file without columns of numbers or texts, but with %.200q", strings.Join(f.LeftOut, ", "))
	}
	return s, nil
}

// leaves counts the leaf columns below a column.
func leaves(c *parquet.Column) (n int) {
	if c.Leaf() {
		return 1
	}
	for _, below := range c.Columns() {
		n += leaves(below)
	}
	return n
}

// recovered turns a panic of the Parquet library, which damaged files cause, into an error.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("damaged Parquet file: %.100v", cause)
	}
}

func (s *parquetSource) next() (b Block, err error) {
	defer func() {
		if err != nil && err != io.EOF {
			err = fmt.Errorf("datasets: %s: after row %d: %w", s.f.Path, s.number-1, err)
		}
	}()
	defer recovered(&err)
	b = Block{Path: s.f.Path, Number: s.number}
	cells := make([][]byte, len(s.names))
	for len(b.Data) < blockSize {
		if s.rows == nil {
			if len(s.groups) == 0 {
				break
			}
			s.rows = s.groups[0].Rows()
		}
		n, err := s.rows.ReadRows(s.buffer)
		for _, row := range s.buffer[:n] {
			for k := range cells {
				cells[k] = cells[k][:0]
			}
			for _, v := range row {
				if at := s.place[v.Column()]; at >= 0 && !v.IsNull() {
					if cells[at], err = appendValue(cells[at], v, s.unsigned[v.Column()]); err != nil {
						return Block{}, fmt.Errorf("column %q: %w", s.names[at], err)
					}
				}
			}
			b.Data = append(append(b.Data, bytes.Join(cells, []byte{unit})...), '\n')
			s.number++
		}
		switch {
		case err == io.EOF:
			if err := s.rows.Close(); err != nil {
				return Block{}, err
			}
			s.rows, s.groups = nil, s.groups[1:]
		case err != nil:
			return Block{}, err
		}
	}
	if len(b.Data) == 0 {
		return Block{}, io.EOF
	}
	return b, nil
}

func appendValue(cell []byte, v parquet.Value, unsigned bool) ([]byte, error) {
	switch kind := v.Kind(); {
	case kind == parquet.Boolean && v.Boolean():
		return append(cell, "True"...), nil
	case kind == parquet.Boolean:
		return append(cell, "False"...), nil
	case kind == parquet.Int32 && unsigned:
		return strconv.AppendUint(cell, uint64(v.Uint32()), 10), nil
	case kind == parquet.Int64 && unsigned:
		return strconv.AppendUint(cell, v.Uint64(), 10), nil
	case kind == parquet.Int96, kind == parquet.FixedLenByteArray:
		return nil, fmt.Errorf("values of type %v, which are not read: save it as numbers or texts", kind)
	}
	from := len(cell)
	cell = append(cell, v.String()...)
	for k, c := range cell[from:] {
		if c == '\n' || c == '\r' || c == unit { // they would end a cell or a line
			cell[from+k] = ' '
		}
	}
	return cell, nil
}

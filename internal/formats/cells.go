package formats

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// cellForms says what stands for a missing value and for a number in a table.
type cellForms struct {
	sep     byte
	decimal string // the key: "comma", "point" or ""
	missing []string
}

// missingWords stand for no value, in any case, as an empty cell does.
var missingWords = []string{"nan", "na", "n/a", "none", "null"}

func isMissingWord(cell []byte) bool {
	return len(cell) == 0 || len(cell) <= 4 && cell[0]|0x20 == 'n' && slices.ContainsFunc(missingWords, func(word string) bool { return strings.EqualFold(word, string(cell)) })
}

func (f *cellForms) isMissing(cell []byte) bool {
	return isMissingWord(cell) || slices.Contains(f.missing, string(cell))
}

// number reads a number, which may be infinite. With a decimal comma it is read as decimals,
// or as thousands if the key decimal says so; ok says that it is a number in either way.
func (f *cellForms) number(cell []byte) (v float64, ok bool) {
	if v, ok := parseNumber(cell); ok {
		return v, true
	}
	whole, fraction, found := bytes.Cut(cell, []byte{','})
	switch {
	case !found:
		return 0, false
	case f.decimal != "point":
		return parseNumber(slices.Concat(whole, []byte{'.'}, fraction))
	case inThousands(cell):
		return parseNumber(bytes.ReplaceAll(cell, []byte{','}, nil))
	}
	return 0, false
}

// inThousands tells whether each comma of a number is before three digits.
func inThousands(cell []byte) bool {
	groups := bytes.Split(cell, []byte{','})
	for k, group := range groups {
		if k > 0 && len(group) != 3 || bytes.IndexByte(group, '.') >= 0 && k < len(groups)-1 {
			return false
		}
	}
	return true
}

// parseNumber reads a decimal number in single precision.
func parseNumber(cell []byte) (float64, bool) {
	first := 0
	if len(cell) > 0 && (cell[0] == '-' || cell[0] == '+') {
		first = 1
	}
	if first == len(cell) || (cell[first] < '0' || cell[first] > '9') && cell[first] != '.' || first+1 < len(cell) && cell[first+1]|0x20 == 'x' {
		return 0, false // also words and hexadecimal numbers, which strconv reads
	}
	// The compiler allocates no string here.
	v, err := strconv.ParseFloat(string(cell), 32)
	return v, err == nil || v-v != 0 // a number beyond single precision is infinite
}

// The kinds of cells in a column that are counted. A cell can be of several.
const (
	missingCells  = iota
	numberCells   // in any form
	idCells       // numbers in the form of ids
	commaCells    // numbers with a comma
	thousandCells // of them, those with three digits after it
	wholeCells    // cells that end in .0
	againCells    // texts that are in the first line, too
	cellKinds
)

// columnCounts counts the cells of a column by kind.
type columnCounts [cellKinds]int

// count counts a cell. first is the cell of the column in the first line.
func (c *columnCounts) count(f *cellForms, cell, first []byte) {
	if isNumber(cell) && !slices.Contains(f.missing, string(cell)) { // most cells
		c[numberCells]++
		c[idCells]++
		return
	}
	missing := f.isMissing(cell)
	_, number := f.number(cell)
	switch {
	case missing:
		c[missingCells]++
	case number && bytes.IndexByte(cell, ',') >= 0 && inThousands(cell):
		c[thousandCells]++
		fallthrough
	case number && bytes.IndexByte(cell, ',') >= 0:
		c[commaCells]++
		fallthrough
	case number:
		c[numberCells]++
	}
	if !missing && bytes.HasSuffix(cell, []byte(".0")) {
		c[wholeCells]++
	}
	if (missing || !number) && len(cell) > 0 && string(cell) == string(first) {
		c[againCells]++
	}
}

// numeric tells whether more than half of the cells that are there are numbers.
func (c *columnCounts) numeric(rows int) bool { return 2*c[numberCells] > rows-c[missingCells] }

// isWhole tells whether all cells that are there end in .0, as pandas writes whole numbers
// beside missing ones.
func (c *columnCounts) isWhole(rows int) bool {
	return c[wholeCells] > 0 && c[wholeCells] == rows-c[missingCells]
}

// unsure tells whether a comma in the numbers can stand for thousands.
func (c *columnCounts) unsure(f *cellForms) bool {
	return f.decimal == "" && c[commaCells] > 0 && (f.sep == ',' || c[thousandCells] == c[commaCells])
}

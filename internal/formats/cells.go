package formats

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/table"
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
	comma := bytes.IndexByte(cell, ',')
	if comma < 0 {
		return 0, false
	}
	var whole []byte
	switch {
	case f.decimal != "point":
		whole = append(append(append(whole, cell[:comma]...), '.'), cell[comma+1:]...)
	case inThousands(cell):
		whole = bytes.ReplaceAll(cell, []byte{','}, nil)
	}
	return parseNumber(whole)
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

// columnCounts counts the cells of a column, after the first line.
type columnCounts struct {
	missing   int
	numbers   int
	commas    int // numbers with a comma
	thousands int // of them, those with three digits after it
	whole     int // cells that end in .0
	ids       int // numbers in the form of ids
	again     bool
}

// count counts a cell, and tells whether it is a number.
func (c *columnCounts) count(f *cellForms, cell []byte) (number bool) {
	if n := len(cell); n > 2 && cell[n-1] == '0' && cell[n-2] == '.' && !f.isMissing(cell) {
		c.whole++
	}
	switch {
	case len(f.missing) > 0 && f.isMissing(cell):
		c.missing++
	case isNumber(cell):
		c.numbers++
		c.ids++
		return true
	case isMissingWord(cell):
		c.missing++
	default:
		if _, number = f.number(cell); number {
			c.numbers++
			if bytes.IndexByte(cell, ',') >= 0 {
				c.commas++
				if inThousands(cell) {
					c.thousands++
				}
			}
		}
	}
	return number
}

func (c *columnCounts) add(o *columnCounts) {
	c.missing += o.missing
	c.numbers += o.numbers
	c.commas += o.commas
	c.thousands += o.thousands
	c.whole += o.whole
	c.ids += o.ids
	c.again = c.again || o.again
}

// numeric tells whether more than half of the cells that are there are numbers.
func (c *columnCounts) numeric(rows int) bool { return 2*c.numbers > rows-c.missing }

// isWhole tells whether all cells that are there end in .0, as pandas writes whole numbers
// beside missing ones.
func (c *columnCounts) isWhole(rows int) bool { return c.whole > 0 && c.whole == rows-c.missing }

// unsure tells whether a comma in the numbers can stand for thousands.
func (c *columnCounts) unsure(f *cellForms) bool {
	return f.decimal == "" && c.commas > 0 && (f.sep == ',' || c.thousands == c.commas)
}

// separatorName returns the name of a file's separator.
func separatorName(f *table.File) string {
	for _, s := range table.Separators {
		if s.Char == f.Sep {
			return s.Name
		}
	}
	return "none"
}

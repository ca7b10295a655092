// Package npytest makes NumPy files for tests.
package npytest

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Texts returns the .npy file of a vector of NumPy's str, as numpy.save writes it.
func Texts(texts ...string) []byte {
	longest := 1
	for _, text := range texts {
		longest = max(longest, utf8.RuneCountInString(text))
	}
	header := fmt.Sprintf("{'descr': '<U%d', 'fortran_order': False, 'shape': (%d,), }  \n",
		longest, len(texts))
	b := append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header))), header...)
	for _, text := range texts {
		element := make([]byte, 4*longest)
		for k, letter := range []rune(text) {
			binary.LittleEndian.PutUint32(element[4*k:], uint32(letter))
		}
		b = append(b, element...)
	}
	return b
}

package memory

import (
	"errors"
	"fmt"
	"math"
)

// ErrTooLarge is wrapped by the errors of Check.
var ErrTooLarge = errors.New("more than there is")

// Limit returns how many bytes this process and its mapped files may have in memory:
// the least of the machine's memory and the limits of its control groups. It is
// math.MaxUint64 on systems that do not report them.
func Limit() uint64 { return machineLimit() }

// Check returns an error if this process cannot take that many more bytes. The limit
// is the least of Limit, the address space that the process may still take (RLIMIT_AS,
// "ulimit -v"), and the largest int, so that sizes that pass can be multiplied as
// ints. A negative count stands for a size that overflowed, and is too large; see
// Product. The error names the purpose (what), the size and the limit.
func Check(what string, bytes int64) error {
	limit := min(Limit(), addressSpace(), math.MaxInt) // MaxInt bounds the length of a slice
	if bytes >= 0 && uint64(bytes) <= limit {
		return nil
	}
	if bytes < 0 {
		return fmt.Errorf("%s would take more than %s of memory, this process may take %s: %w", what, Text(math.MaxInt64), Text(limit), ErrTooLarge)
	}
	return fmt.Errorf("%s would take %s of memory, this process may take %s: %w", what, Text(uint64(bytes)), Text(limit), ErrTooLarge)
}

// Product returns the product of counts and sizes, or −1 if one of them is negative or
// the product does not fit in an int64.
func Product(factors ...int64) int64 {
	p := int64(1)
	for _, f := range factors {
		if f < 0 || p < 0 || f > 0 && p > math.MaxInt64/f {
			return -1
		}
		p *= f
	}
	return p
}

// Text prints a number of bytes, such as "3.2 TB".
func Text(bytes uint64) string {
	if bytes == math.MaxUint64 {
		return "any amount"
	}
	x, unit := float64(bytes), 0
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}
	for x >= 999.5 && unit < len(units)-1 {
		x, unit = x/1000, unit+1
	}
	return fmt.Sprintf("%.3g %s", x, units[unit])
}

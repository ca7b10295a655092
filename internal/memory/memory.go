// Package memory finds how much memory this process may use. Readers check sizes from
// files and flags with it before they allocate.
//
//	header of a file, flags ─▶ memory.Check ─▶ allocate
package memory

import (
	"errors"
	"fmt"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// ErrTooLarge is wrapped by the errors of Check, and by errors of work that does not fit into
// a bound of memory.
var ErrTooLarge = errors.New("too little memory")

// Limit returns the number of bytes that this process may have in memory, mapped files
// included: the smallest of the machine's memory and the limits of the process's control
// groups. It is math.MaxUint64 if the system does not tell.
func Limit() uint64 {
	limit := uint64(math.MaxUint64)
	for _, ask := range []memlimit.Provider{memlimit.FromSystem, memlimit.FromCgroup} {
		if bytes, err := ask(); err == nil {
			limit = min(limit, bytes)
		}
	}
	return limit
}

// Check returns an error if bytes is more than Limit, than the address space left to this
// process (RLIMIT_AS, "ulimit -v"), or than the largest int. Sizes that pass can therefore be
// multiplied as ints. A negative number means a size that overflowed: it is too large. The
// error wraps ErrTooLarge, and names what, its size and the limit.
//
// Compute bytes with Product, which detects overflow. A size up to 1 MiB passes without a look
// at the limits, which are in files of the system.
func Check(what string, bytes int64) error {
	if uint64(bytes) <= 1<<20 { // not of a negative number
		return nil
	}
	limit := min(Limit(), addressSpace(), math.MaxInt) // MaxInt bounds the length of a slice
	if uint64(bytes) <= limit {
		return nil
	}
	return fmt.Errorf("%s would take %s of memory, this process may take %s: %w", what, Text(uint64(bytes)), Text(limit), ErrTooLarge)
}

// Budget returns the bytes that long work may take: those asked for, or by default half of the
// limit, at most 8 GiB.
func Budget(asked int64) int64 {
	if asked > 0 {
		return asked
	}
	return int64(min(Limit()/2, 8<<30))
}

// Product returns the product of the factors, or −1 if a factor is negative or the product
// overflows int64.
func Product[T int | int64](factors ...T) int64 {
	p := int64(1)
	for _, factor := range factors {
		f := int64(factor)
		if f < 0 || p < 0 || f > 0 && p > math.MaxInt64/f {
			return -1
		}
		p *= f
	}
	return p
}

// Text returns a number of bytes as text, such as "3.2 TB".
func Text[T int | int64 | uint64](bytes T) string {
	x, unit := float64(bytes), 0
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}
	for x >= 999.5 && unit < len(units)-1 {
		x, unit = x/1000, unit+1
	}
	return fmt.Sprintf("%.3g %s", x, units[unit])
}

// Tally counts memory that is taken in small amounts, such as by a reader of a file of
// unknown length. It calls Check before the memory is taken. The zero value with What
// set is ready to use. It is not safe for concurrent use.
type Tally struct {
	What string // begins the error, as in Check

	taken int64
}

// Add counts bytes that are about to be taken. The error is Check's, for the sum of all bytes so
// far, once for each 64 MB. Most calls cost one addition.
func (t *Tally) Add(bytes int64) error {
	const step = 64 << 20
	before := t.taken
	t.taken += bytes
	if before/step == t.taken/step {
		return nil
	}
	return Check(t.What, t.taken)
}

package ranks

import (
	"context"
	"crypto/sha256"
	"fmt"
	"unsafe"
)

// Group is the processes that train one model together. They are called ranks. All ranks call
// Exchange and Gather in the same order, with sizes that fit. After an error the group cannot be
// used any more. A Group is for one goroutine.
type Group interface {
	Rank() int // of this process, from 0
	Size() int // number of ranks

	// Exchange sends send[r] to each rank r, and fills receive[r] with the values of
	// rank r. receive[r] has the length of the sent part. It returns soon when ctx ends.
	Exchange(ctx context.Context, send, receive [][]float32) error
	// Gather fills parts[r] with parts[r] of each rank r.
	Gather(ctx context.Context, parts [][]float32) error
}

// Error is an error that every rank of a group returns in the same update, such as a loss
// that is not finite on one of them. So one rank can report it for all.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Name returns a rank's number, with its host if the group knows it.
func Name(g Group, rank int) string {
	if hosts, ok := g.(interface{ Host(rank int) string }); ok {
		return fmt.Sprintf("rank %d on %s", rank, hosts.Host(rank))
	}
	return fmt.Sprintf("rank %d", rank)
}

// Range returns the range [lo, hi) of n things that belong to rank r of size.
func Range(n, r, size int) (lo, hi int) { return n * r / size, n * (r + 1) / size }

// Bytes returns the memory of values. Bytes that travel as float32 keep their bits.
func Bytes[T float32 | int32 | uint16](values []T) []byte { return as[byte](values) }

// as returns the memory of values as values of another type.
func as[T, From float32 | int32 | uint16 | byte](values []From) []T {
	size := int(unsafe.Sizeof(*new(From))) * len(values) / int(unsafe.Sizeof(*new(T)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(values))), size)
}

// Broadcast returns rank 0's data on every rank of g. The other ranks' data are not used.
func Broadcast(ctx context.Context, g Group, data []byte) ([]byte, error) {
	// The ranks must know how much they gather, so the length comes first.
	length := make([]float32, 2)
	n := (*uint64)(unsafe.Pointer(&length[0]))
	*n = uint64(len(data))
	parts := make([][]float32, g.Size())
	parts[0] = length
	if err := g.Gather(ctx, parts); err != nil {
		return nil, err
	}
	values := make([]float32, (*n+3)/4)
	if g.Rank() == 0 {
		copy(Bytes(values), data)
	}
	parts[0] = values
	err := g.Gather(ctx, parts)
	return Bytes(values)[:*n], err
}

// gather returns the bytes of each rank, which have equal lengths, a multiple of 4.
func gather(ctx context.Context, g Group, own []byte) ([][]byte, error) {
	parts := make([][]float32, g.Size())
	all := make([][]byte, g.Size())
	for rank := range parts {
		parts[rank] = make([]float32, len(own)/4)
		all[rank] = Bytes(parts[rank])
	}
	copy(all[g.Rank()], own)
	return all, g.Gather(ctx, parts)
}

// Imbalance returns the largest of the ranks' times over their mean, 0 if all are 0.
func Imbalance(ctx context.Context, g Group, seconds float64) (float64, error) {
	times, err := gather(ctx, g, Bytes([]float32{float32(seconds)}))
	var most, sum float32
	for _, text := range times {
		t := as[float32](text)[0]
		most, sum = max(most, t), sum+t
	}
	if err != nil || sum == 0 {
		return 0, err
	}
	return float64(most) * float64(len(times)) / float64(sum), nil
}

// Differ compares texts of all ranks by their digests. It returns the first rank that has
// another text than rank 0, and the number of the text; rank is −1 if there is none.
func Differ(ctx context.Context, g Group, texts ...[]byte) (rank, text int, err error) {
	var own []byte
	for _, text := range texts {
		digest := sha256.Sum256(text)
		own = append(own, digest[:]...)
	}
	all, err := gather(ctx, g, own)
	if err != nil {
		return -1, 0, err
	}
	for rank, digests := range all {
		for k := range digests {
			if digests[k] != all[0][k] {
				return rank, k / sha256.Size, nil
			}
		}
	}
	return -1, 0, nil
}

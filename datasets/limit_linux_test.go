package datasets

import "golang.org/x/sys/unix"

const haveLimits = true

// limitAddressSpace is "ulimit -v", in bytes.
func limitAddressSpace(bytes uint64) error {
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes})
}

//go:build !linux

package datasets

import "errors"

const haveLimits = false

func limitAddressSpace(uint64) error { return errors.ErrUnsupported }

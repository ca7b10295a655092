//go:build !linux

package main

import "errors"

func evictFile(string) error {
	return errors.New("--cold: only Linux removes a file from its cache")
}

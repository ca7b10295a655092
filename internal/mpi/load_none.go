//go:build nodlopen || !(amd64 || arm64) || !(linux || darwin)

package mpi

import "errors"

func open([]string) (*library, error) {
	return nil, errors.New("this build cannot load an MPI library; builds for Linux and macOS on amd64 and arm64 can")
}

package weights

import (
	"archive/zip"
	"context"
	"errors"
	"io"

	"github.com/gcn-layerwise/gcn/internal/npy"
)

func readNPZ(ctx context.Context, path string) ([]Tensor, error) {
	archive, err := npy.OpenArchive(path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	var tensors []Tensor
	for _, key := range archive.Members() {
		r, err := archive.Open(key)
		if err != nil {
			return nil, err
		}
		shape := r.Shape
		values, err := r.Float32s(ctx)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		tensors = append(tensors, Tensor{key, shape, values})
	}
	return tensors, nil
}

func writeNPZ(w io.Writer, tensors []Tensor) error {
	archive := zip.NewWriter(w)
	for _, t := range tensors {
		member, err := archive.CreateHeader(&zip.FileHeader{Name: t.Name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := npy.Write(member, t.Values, t.Shape...); err != nil {
			return err
		}
	}
	return archive.Close()
}

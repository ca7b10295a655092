package reproduce

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
)

// saveText writes a text file with the function write.
func saveText(dir, name string, write func(io.Writer) error) error {
	if err := atomicfile.Write(filepath.Join(dir, name), write); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	return nil
}

package reproduce

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// saveText writes a file by a function that writes text.
func saveText(dir, name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	return nil
}

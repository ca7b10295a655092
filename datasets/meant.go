package datasets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/store"
)

// meant returns the SPEC that was probably meant by one without a scheme that names no data
// set: the path of a file or folder of a known form, or a name in another spelling, such as
// "Cora" or "ogbn_arxiv". It returns "" if there is none.
func meant(s *Spec) string {
	spec := func(path string) string { return strings.Replace(s.text, s.Path, path, 1) }
	file := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s.Path), ".gz"), ".zst"))
	if info, err := os.Stat(s.Path); err == nil {
		for _, scheme := range schemes() {
			for _, pattern := range scheme.typical {
				isFile, _ := filepath.Match(pattern, file)
				found, _ := filepath.Glob(filepath.Join(s.Path, pattern))
				switch {
				case len(found) > 0 && scheme.Name == "planetoid": // ind.NAME.graph
					name := strings.TrimSuffix(filepath.Base(found[0])[len("ind."):], ".graph")
					return spec("planetoid:" + filepath.Join(filepath.Dir(found[0]), name))
				case isFile, len(found) > 0 && !strings.HasPrefix(pattern, "*"):
					return spec(scheme.Name + ":" + s.Path)
				}
			}
		}
		if is, err := store.Is(s.Path); is && err == nil && info.Size() > 0 {
			return spec("store:" + s.Path)
		}
	}
	if name := strings.ToLower(strings.ReplaceAll(s.Path, "_", "-")); slices.Contains(Names(), name) {
		return spec(name)
	}
	return ""
}

package rundir

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Slug shortens a data SPEC to a valid file name: the scheme, the path's last
// element and the keys.
func Slug(spec string) string {
	location, query, _ := strings.Cut(spec, "?")
	scheme, location, found := strings.Cut(location, ":")
	if !found {
		scheme, location = "", scheme
	}
	words := scheme + " " + path.Base(filepath.ToSlash(location)) + " " + query
	slug := strings.Trim(regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(strings.ToLower(words), "-"), "-")
	return cmp.Or(strings.TrimRight(slug[:min(len(slug), 60)], "-"), "data")
}

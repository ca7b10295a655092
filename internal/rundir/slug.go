package rundir

import (
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// Slug shortens a data SPEC to a valid file name: the scheme, the path's last
// element and the keys.
func Slug(spec string) string {
	location, query, _ := strings.Cut(spec, "?")
	scheme, location, found := strings.Cut(location, ":")
	if !found {
		scheme, location = "", scheme
	}
	words := strings.FieldsFunc(scheme+" "+path.Base(filepath.ToSlash(location))+" "+query, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	slug := strings.ToLower(strings.Join(words, "-"))
	if len(slug) > 60 {
		slug = strings.TrimRight(slug[:60], "-")
	}
	if slug == "" {
		slug = "data"
	}
	return slug
}

package rundir

import (
	"cmp"
	"regexp"
	"strings"
)

// Slug shortens a data SPEC to a valid file name: the scheme, the path's last
// element and the keys.
func Slug(spec string) string {
	location, query, _ := strings.Cut(spec, "?")
	location = regexp.MustCompile(`[^:]*[/\\]([^/\\])`).ReplaceAllString(location, "$1")
	slug := regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(strings.ToLower(location+" "+query), "-")
	slug = strings.Trim(slug, "-")
	return cmp.Or(strings.TrimRight(slug[:min(len(slug), 60)], "-"), "data")
}

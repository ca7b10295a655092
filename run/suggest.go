package run

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DidYouMean returns ", did you mean NAME?" for the name that was probably meant by the given
// one, or "".
func DidYouMean(given string, names []string) string {
	if name := Meant(given, names); name != "" {
		return fmt.Sprintf(", did you mean %s?", name)
	}
	return ""
}

// OldFlag says what took the place of an option that this program had, or returns "".
func OldFlag(name string) string {
	name = flagOf(name)
	key := map[string]string{"include-rows": "rows", "normalize-rows": "normalize"}[name]
	for _, of := range []struct {
		keys           any
		flag, oldNames string
	}{
		{Keys{}, "--method", "control-"},
		{ScheduleKeys{}, "--schedule", "schedule-"},
	} {
		if o, ok := find(of.keys, cmp.Or(key, strings.TrimPrefix(name, of.oldNames))); ok {
			example, _, _ := strings.Cut(o.Group, "|")
			return fmt.Sprintf("is a key of %s: %[1]s '%s?%s=%s'", of.flag, example, o.Flag(), cmp.Or(o.Default, "…"))
		}
	}
	if o, ok := Find(name); ok && o.File {
		return "is for files of options: --config FILE with {\"" + o.Name + "\": …}"
	}
	return ""
}

// Meant returns the name that was probably meant by the given one: the nearest one, or the
// longest that it contains. It returns "" if there is none. A name is near if a third of given's
// letters, or two, are others, or if it begins with given.
func Meant(given string, names []string) string {
	given = flagOf(strings.ToLower(given))
	nearest, least, longest := "", max(2, len(given)/3)+1, ""
	for _, name := range names {
		lower := strings.ToLower(name)
		distance := levenshtein.ComputeDistance(given, lower)
		if len(given) >= 2 && strings.HasPrefix(lower, given) {
			distance = min(distance, 1)
		}
		if distance < least && distance < len(name) {
			nearest, least = name, distance
		}
		if len(name) > max(2, len(longest)) && strings.Contains(given, lower) {
			longest = name
		}
	}
	return cmp.Or(nearest, longest)
}

package run

import (
	"fmt"
	"slices"
	"strings"
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
	for new, old := range map[string][]string{
		"is a key of --method: --method 'ladies?%s=…'":            {"flat", "draw", "weight", "population", "control"},
		"is a key of --method: --method 'fastgcn?%s=1'":           {"neighborhood"},
		"is the name of --method: --method 'ladies?draw=…'":       {"importance"},
		"is a key of --method: --method 'ladies?rows=1'":          {"include-rows"},
		"is a key of --method: --method 'ladies?normalize=1'":     {"normalize-rows"},
		"is a key of --method: --method 'ladies-cv?every=50'":     {"control-every"},
		"is a key of --method: --method 'ladies-cv?half=1'":       {"control-half"},
		"is a key of --method: --method 'ladies-cv?linear=0'":     {"control-linear"},
		"is a key of --schedule: --schedule 'cosine?warm-up=100'": {"warm-up"},
		"is a key of --schedule: --schedule 'step?every=100'":     {"schedule-every"},
		"is a key of --schedule: --schedule 'step?factor=0.5'":    {"schedule-factor"},
	} {
		if slices.Contains(old, name) {
			return strings.ReplaceAll(new, "%s", name)
		}
	}
	if o, ok := find(&Settings{}, name); ok && o.File {
		return "is for files of options: --config FILE with {\"" + o.Name + "\": …}"
	}
	return ""
}

// Meant returns the name that was probably meant by the given one: the nearest name, a name
// that is one of its words, or a name that it begins with. It returns "" if there is none.
func Meant(given string, names []string) string {
	given = strings.ReplaceAll(strings.ToLower(given), "_", "-")
	if name := nearest(given, names); name != "" {
		return name
	}
	for word := range strings.SplitSeq(given, "-") {
		if len(word) > 1 && slices.Contains(names, word) {
			return word
		}
	}
	longest := ""
	for _, name := range names {
		if len(name) > max(2, len(longest)) && strings.HasPrefix(given, name) {
			longest = name
		}
	}
	return longest
}

// nearest returns the name with the smallest edit distance to given. It considers names that
// differ in at most a third of given's letters (at least two), and names that begin with
// given. It returns "" if there is none.
func nearest(given string, names []string) string {
	best, bestDistance := "", max(2, len(given)/3)+1
	for _, name := range names {
		d := editDistance(given, strings.ToLower(name))
		if len(given) >= 2 && strings.HasPrefix(strings.ToLower(name), given) {
			d = min(d, 1)
		}
		if d < bestDistance && d < len(name) {
			best, bestDistance = name, d
		}
	}
	return best
}

// editDistance is Levenshtein's distance over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

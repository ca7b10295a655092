package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// version identifies a version of a file on a server. It is kept beside the first
// bytes of a broken download: the rest must come from the same version.
type version struct {
	Address      string `json:"address"` // without a password
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	Date         string `json:"date,omitempty"`  // of the answer
	Total        int64  `json:"total,omitempty"` // bytes of the file; 0 if the server does not say
}

// versionOf returns the version that a server answers with. The request was for the
// bytes from have on. The error says why the answer cannot be used.
func versionOf(r *http.Response, have int64) (version, error) {
	v := version{
		ETag: r.Header.Get("ETag"), LastModified: r.Header.Get("Last-Modified"), Date: r.Header.Get("Date"),
	}
	switch {
	case r.StatusCode == http.StatusOK:
		v.Total = max(r.ContentLength, 0)
	case r.StatusCode == http.StatusPartialContent && have > 0:
		from, total, ok := contentRange(r.Header.Get("Content-Range"))
		if !ok || from != have {
			return v, startAgain{fmt.Errorf("answered with range %.60q, asked for the bytes from %d", r.Header.Get("Content-Range"), have)}
		}
		v.Total = total
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return v, startAgain{errors.New(r.Status)}
	case r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusRequestTimeout:
		return v, errors.New(r.Status)
	default:
		return v, permanent{errors.New(r.Status)}
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "text/html" {
		return v, permanent{errors.New("answered with a web page instead of the file")}
	}
	return v, nil
}

// contentRange parses "bytes FROM-TO/TOTAL", where the range ends with the file.
func contentRange(s string) (from, total int64, ok bool) {
	s, ok = strings.CutPrefix(s, "bytes ")
	span, whole, found := strings.Cut(s, "/")
	first, last, dash := strings.Cut(span, "-")
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	total, err3 := strconv.ParseInt(whole, 10, 64)
	return from, total, ok && found && dash && err1 == nil && err2 == nil && err3 == nil && to == total-1 && from <= to
}

// validator returns a value for the header If-Range: a strong entity tag, or a date
// before the answer's, so that no second version can have it too (RFC 9110,
// sections 8.8.2.2 and 13.1.5). "" means that versions cannot be told apart.
func (v version) validator() string {
	if v.ETag != "" && !strings.HasPrefix(v.ETag, "W/") {
		return v.ETag
	}
	changed, err1 := http.ParseTime(v.LastModified)
	answered, err2 := http.ParseTime(v.Date)
	if err1 != nil || err2 != nil || answered.Sub(changed) < time.Second {
		return ""
	}
	return v.LastModified
}

// same tells whether a partial answer has version v. A server sends the entity tag
// with each part, but may omit the date.
func (v version) same(part version) bool {
	switch {
	case v.ETag != "" && part.ETag != v.ETag:
		return false
	case v.LastModified != "" && part.LastModified != "" && part.LastModified != v.LastModified:
		return false
	}
	return v.Total == 0 || part.Total == v.Total
}

func versionPath(part string) string { return part + ".version" }

// readVersion returns the version of a part's bytes. It is the zero version if that
// is unknown, or if the bytes came from another address.
func readVersion(part, address string) version {
	var v version
	text, err := os.ReadFile(versionPath(part))
	if err != nil || json.Unmarshal(text, &v) != nil {
		return version{}
	}
	if v.Address != redacted(address) {
		return version{}
	}
	return v
}

func (v version) write(part string) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(versionPath(part), append(text, '\n'), 0o644)
}

// removeVersion makes the next attempt begin from the start.
func removeVersion(part string) {
	os.Remove(versionPath(part)) // there may be none
}

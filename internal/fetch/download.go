package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const mostAttempts = 4 // in a row without a new byte

// shower is told the progress of a stage.
type shower func(stage string, done, total int64)

// download makes the file at path, unless an earlier call did, and returns its SHA-256. It is
// an error if that is not want; want is "" if it is not known. A broken download is
// resumed, now or by the next call.
func (c *Client) download(ctx context.Context, address, path, want string, show shower) (sum string, err error) {
	if missing(path) {
		part := path + ".part"
		if err := c.retry(ctx, address, part, show); err != nil {
			return "", err
		}
		if err := os.Rename(part, path); err != nil {
			return "", err
		}
		os.Remove(tagPath(part)) // there may be none
	}
	show("check", 0, 0)
	if sum, err = hash(ctx, path); err == nil && want != "" && sum != want {
		os.Remove(path) // so that the next call downloads it again
		err = fmt.Errorf("SHA-256 is %s, want %s", sum, want)
	}
	return sum, err
}

// hash returns the SHA-256 of a file.
func hash(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })() // reading then ends
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// retry downloads to part in several attempts, until one succeeds, the server says that
// another is useless, or several in a row get no further.
func (c *Client) retry(ctx context.Context, address, part string, show shower) error {
	for failed, furthest := 0, int64(0); ; {
		reached, again, err := c.attempt(ctx, address, part, show)
		if err == nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if reached > furthest {
			failed, furthest = 0, reached
		}
		if failed++; !again || failed == mostAttempts {
			return err
		}
		select {
		case <-ctx.Done(): // the next attempt says so
		case <-time.After(c.Pause << (failed - 1)):
		}
	}
}

// tagPath returns the path of the entity tag of the bytes at part. A download without one
// begins from the start.
func tagPath(part string) string { return part + ".etag" }

// startAgain makes the next attempt begin from the start, because of err.
func startAgain(part string, err error) error {
	os.Remove(tagPath(part)) // there may be none
	return err
}

// attempt downloads the missing bytes of the file at part. It returns the number of bytes that
// are there then, and whether another attempt may help.
func (c *Client) attempt(ctx context.Context, address, part string, show shower) (have int64, again bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stalled := time.AfterFunc(c.Stall, cancel)
	defer stalled.Stop()
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	tag, _ := os.ReadFile(tagPath(part)) // there may be none
	if len(tag) > 0 {
		if have, err = f.Seek(0, io.SeekEnd); err != nil {
			return 0, false, err
		}
	}
	response, err := ask(ctx, address, have, string(tag))
	if err != nil {
		return have, true, err
	}
	defer response.Body.Close()
	var from, to, total int64
	switch code, span := response.StatusCode, response.Header.Get("Content-Range"); {
	case code == http.StatusOK:
		total = max(response.ContentLength, 0)
	case code == http.StatusPartialContent:
		_, err := fmt.Sscanf(span, "bytes %d-%d/%d", &from, &to, &total)
		if err != nil || from != have || to != total-1 || response.Header.Get("ETag") != string(tag) {
			return 0, true, startAgain(part, fmt.Errorf("answered with range %.60q of another version, or not from byte %d on", span, have))
		}
	case code == http.StatusRequestedRangeNotSatisfiable && span == fmt.Sprintf("bytes */%d", have):
		return have, false, nil // a process was killed after the last byte
	case code == http.StatusRequestedRangeNotSatisfiable:
		return 0, true, startAgain(part, errors.New(response.Status))
	default:
		return have, code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout, errors.New(response.Status)
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "text/html" {
		return have, false, errors.New("answered with a web page instead of the file")
	}
	if have = from; have == 0 {
		// In this order: the part never holds bytes of another version than the tag names.
		if err := f.Truncate(0); err != nil {
			return 0, false, err
		}
		tag := response.Header.Get("ETag")
		if strings.HasPrefix(tag, "W/") { // a weak one, which files that differ may have
			tag = ""
		}
		if err := os.WriteFile(tagPath(part), []byte(tag), 0o644); err != nil {
			return 0, false, err
		}
	}
	show("download", have, total)
	_, err = io.Copy(io.MultiWriter(io.NewOffsetWriter(f, have), progress(func(n int) error {
		stalled.Reset(c.Stall)
		have += int64(n)
		show("download", have, total)
		return nil
	})), response.Body)
	if err == nil && total > 0 && have != total {
		err = fmt.Errorf("want %d bytes", total) // the next attempt starts again after more
	}
	if err != nil {
		return have, true, fmt.Errorf("broken off after %d bytes: %w", have, err)
	}
	return have, false, f.Sync()
}

// progress is a writer that is called with the number of bytes. Its error ends the copying.
type progress func(n int) error

func (p progress) Write(b []byte) (int, error) { return len(b), p(len(b)) }

// ask requests the file, or only the bytes from have on if the server still has the
// version of the first ones.
func ask(ctx context.Context, address string, have int64, tag string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "gcn-layerwise")
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		request.Header.Set("If-Range", tag)
	}
	client := http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if from := via[0].URL.Scheme; from == "https" && r.URL.Scheme != from || len(via) == 10 {
			return fmt.Errorf("redirected from %s to %s, %d times", from, r.URL.Scheme, len(via))
		}
		return nil
	}}
	response, err := client.Do(request)
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err // the caller names the address
	}
	return response, err
}

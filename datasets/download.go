package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// downloader gets files over HTTP. It resumes broken downloads.
type downloader struct {
	client *http.Client
	mirror string                                      // "": the files' own addresses
	pause  time.Duration                               // before the first of several attempts
	stall  time.Duration                               // a connection without a byte for so long counts as broken
	report func(stage, file string, done, total int64) // stage is "download" or "check"
}

func newDownloader(o Options) *downloader {
	client := &http.Client{
		Transport: http.DefaultTransport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
				return fmt.Errorf("redirected from https to %s", r.URL.Scheme)
			}
			if len(via) >= 10 {
				return errors.New("more than 10 redirections")
			}
			return nil
		},
	}
	return &downloader{
		client: client, mirror: o.mirror(), pause: time.Second, stall: time.Minute,
		report: func(string, string, int64, int64) {},
	}
}

const (
	mostAttempts  = 4       // in a row without a new byte
	mostDownload  = 1 << 36 // bytes of a file of unknown size
	downloadPiece = 1 << 18
	longCheck     = 1 << 30 // bytes; checking a larger file is reported
)

// permanent wraps an error after which another attempt is useless.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// startAgain wraps an error after which the next attempt begins from the start.
type startAgain struct{ error }

func (s startAgain) Unwrap() error { return s.error }

func (d *downloader) address(set string, file remoteFile) (string, error) {
	if d.mirror == "" {
		return file.url, nil
	}
	address, err := url.JoinPath(d.mirror, set, file.name)
	if err != nil {
		return "", fmt.Errorf("datasets: mirror %q: %w", d.mirror, err)
	}
	return address, nil
}

// get downloads a file into dir, unless an earlier call did, and returns its size
// and SHA-256. It checks them if they are known. A broken download is resumed, now
// or by the next call.
func (d *downloader) get(ctx context.Context, address, dir string, file remoteFile) (size int64, sum string, err error) {
	path := filepath.Join(dir, file.name)
	if isMissing(path) {
		if err := d.retry(ctx, address, path, file); err != nil {
			return 0, "", fmt.Errorf("datasets: %s: %w", redacted(address), err)
		}
	}
	size, sum, err = hashFile(ctx, path, func(done, total int64) {
		if total > longCheck {
			d.report("check", file.name, done, total)
		}
	})
	if err == nil {
		if err = file.check(size, sum); err != nil {
			os.Remove(path) // so that the next call downloads it again
			err = fmt.Errorf("%s: %w", redacted(address), err)
		}
	}
	if err != nil {
		return 0, "", fmt.Errorf("datasets: %w", err)
	}
	return size, sum, nil
}

func (file *remoteFile) check(size int64, sum string) error {
	switch {
	case file.size > 0 && size != file.size:
		return fmt.Errorf("%d bytes, want %d", size, file.size)
	case file.sha256 != "" && sum != file.sha256:
		return fmt.Errorf("SHA-256 is %s, want %s", sum, file.sha256)
	}
	return nil
}

func hashFile(ctx context.Context, path string, report func(done, total int64)) (size int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	h := sha256.New()
	size, err = io.Copy(h, &countingReader{r: contextReader{ctx, f}, total: info.Size(), report: report})
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// countingReader reports the number of bytes read, if report is not nil.
type countingReader struct {
	r           io.Reader
	done, total int64
	report      func(done, total int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.done += int64(n); c.report != nil {
		c.report(c.done, c.total)
	}
	return n, err
}

// contextReader stops reading when its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// retry downloads to path in several attempts, until one succeeds, the error is
// permanent, or several in a row get no further.
func (d *downloader) retry(ctx context.Context, address, path string, file remoteFile) error {
	failed, furthest := 0, int64(0)
	for {
		reached, err := d.attempt(ctx, address, path+".part", file)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.As(err, new(startAgain)) {
			removeVersion(path + ".part")
		}
		if reached > furthest {
			failed, furthest = 0, reached
		}
		failed++
		if errors.As(err, new(permanent)) || failed == mostAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d.pause << (failed - 1)):
		}
	}
	if err := os.Rename(path+".part", path); err != nil {
		return err
	}
	removeVersion(path + ".part")
	return nil
}

// attempt downloads the missing bytes of the file at part. It returns the number of
// bytes that are there then.
func (d *downloader) attempt(ctx context.Context, address, part string, file remoteFile) (reached int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return 0, permanent{err}
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	begun := readVersion(part, address)
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, permanent{err}
	}
	if begun.validator() == "" {
		have = 0 // the server cannot tell versions apart
	}
	if have > 0 && have == begun.Total {
		return have, f.Sync() // a process was killed after the last byte
	}
	stalled := time.AfterFunc(d.stall, cancel)
	defer stalled.Stop()
	response, err := d.ask(ctx, address, have, begun)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answered, err := versionOf(response, have)
	if err != nil {
		return 0, err
	}
	resumed := response.StatusCode == http.StatusPartialContent
	if resumed && !begun.same(answered) {
		return 0, startAgain{fmt.Errorf("the file has changed since its first %d bytes were downloaded", have)}
	}
	total, most := answered.Total, int64(mostDownload)
	if file.size > 0 {
		most = file.size
		if total > 0 && total != file.size {
			return 0, permanent{fmt.Errorf("%d bytes, want %d", total, file.size)}
		}
		total = file.size
	}
	if !resumed {
		have = 0
		// In this order: if the process is killed in between, the part is empty. It
		// never holds another version than the note beside it names.
		if err := f.Truncate(0); err != nil {
			return 0, permanent{err}
		}
		answered.Address = redacted(address)
		if err := answered.write(part); err != nil {
			return 0, permanent{err}
		}
	}
	if _, err := f.Seek(have, io.SeekStart); err != nil {
		return 0, permanent{err}
	}
	buffer := make([]byte, downloadPiece)
	d.report("download", file.name, have, total)
	for {
		n, err := response.Body.Read(buffer)
		stalled.Reset(d.stall)
		if n > 0 {
			if have += int64(n); have > most {
				return have, permanent{fmt.Errorf("more than %d bytes", most)}
			}
			if _, err := f.Write(buffer[:n]); err != nil {
				return have, permanent{err}
			}
			d.report("download", file.name, have, total)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return have, fmt.Errorf("broken off after %d bytes: %w", have, err)
		}
	}
	switch {
	case total > 0 && have > total:
		return 0, startAgain{fmt.Errorf("%d bytes came of a file of %d", have, total)}
	case total > 0 && have < total:
		return have, fmt.Errorf("broken off after %d of %d bytes", have, total)
	}
	if err := f.Sync(); err != nil {
		return have, permanent{err}
	}
	return have, nil
}

// ask requests the file, or only the bytes from have on if the server still has the
// version of the first ones.
func (d *downloader) ask(ctx context.Context, address string, have int64, begun version) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, permanent{err}
	}
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "gcn-layerwise")
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		request.Header.Set("If-Range", begun.validator())
	}
	response, err := d.client.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	return response, nil
}

// redacted returns an address without its password.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Redacted()
}

// withoutURL strips the address that package http puts before its errors. The
// caller adds it.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

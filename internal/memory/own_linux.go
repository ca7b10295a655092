package memory

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Own returns the bytes of memory that this process has and that the system cannot take back:
// resident pages of no file. ok is false if the system does not tell.
func Own() (resident uint64, ok bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		rest, found := strings.CutPrefix(lines.Text(), "RssAnon:")
		if !found {
			continue
		}
		kilobytes, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
		return kilobytes << 10, err == nil
	}
	return 0, false
}

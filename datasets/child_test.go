package datasets

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// child runs the task of a process that a test started: "convert SPEC PATH", "stream SPEC
// PATH", "propagate SPEC PATH", "fetch NAME", or "open LIMIT SPEC" within LIMIT bytes of address space.
func child(task string) int {
	fields := strings.Fields(task)
	var err error
	switch fields[0] {
	case "convert":
		_, err = Convert(context.Background(), fields[1], fields[2], Options{})
	case "stream":
		_, err = Convert(context.Background(), fields[1], fields[2], Options{window: 1 << 20})
	case "propagate":
		_, err = Convert(context.Background(), fields[1], fields[2], Options{Propagated: true, Memory: streamMemory, block: 200000})
	case "open":
		var limit uint64
		if limit, err = strconv.ParseUint(fields[1], 10, 64); err == nil {
			err = limitAddressSpace(limit)
		}
		if err == nil {
			_, err = Open(context.Background(), fields[2], Options{})
		}
	case "fetch":
		_, err = Fetch(context.Background(), fields[1], Options{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

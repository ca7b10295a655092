package datasets

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// child does what TestMain's process was started for: "convert SPEC PATH" or
// "fetch NAME".
func child(task string) int {
	fields := strings.Fields(task)
	var err error
	switch fields[0] {
	case "convert":
		_, err = Convert(context.Background(), fields[1], fields[2], Options{})
	case "fetch":
		_, err = Fetch(context.Background(), fields[1], Options{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

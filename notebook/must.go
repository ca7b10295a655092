package notebook

// Must panics with err unless it is nil. A cell fails by a panic, as it cannot
// return an error. Libraries return errors instead.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

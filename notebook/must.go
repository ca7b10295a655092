package notebook

// Must panics with err unless it is nil: the way for a cell to fail, as it has
// nowhere to return an error to. Libraries return errors instead.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

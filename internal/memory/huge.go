package memory

// Large returns n zeros, in huge pages where the system has them. It is for rows that are
// read at random: with small pages a row costs a walk through the page table too. All of
// it counts as used memory once parts all over it are written.
func Large(n int) []float32 {
	values := make([]float32, n)
	adviseHuge(values)
	return values
}

module gorgonia.org/cu

go 1.26.0

require (
	github.com/chewxy/math32 v1.10.1
	gonum.org/v1/gonum v0.17.0
)

package notebook

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/gcn-layerwise/gcn/study/figure"
)

// Each chart has a PNG of 1.5 times the size of its SVG, with the same colours.
func TestPNG(t *testing.T) {
	lines := Draw(&figure.Figure{Title: "two lines", Panels: []figure.Panel{
		{X: "batch", Y: "loss", Lines: []figure.Series{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{3, 2, 1}}, {Name: "b", X: []float64{0, 1, 2}, Y: []float64{1, 2, 4}}}},
		{X: "batch", Y: "score", Lines: []figure.Series{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{1, 2, 3}}}},
	}})
	vermillion := figure.Palette()[1]
	for name, c := range map[string]struct {
		chart  *Chart
		colour color.RGBA
	}{"figure": {lines, vermillion}, "message": {Draw(nil), color.RGBA{A: 0xff}}, "error": {Draw(&figure.Figure{}), color.RGBA{A: 0xff}}} {
		picture, err := png.Decode(bytes.NewReader(c.chart.PNG()))
		if err != nil {
			t.Fatal(name, err)
		}
		for k, size := range []int{picture.Bounds().Dx(), picture.Bounds().Dy()} {
			find := []string{`width="(\d+)"`, `height="(\d+)"`}[k]
			want, err := strconv.Atoi(regexp.MustCompile(find).FindStringSubmatch(c.chart.SVG())[1])
			if err != nil {
				t.Fatal(err)
			}
			if ratio := float64(size) / float64(want); ratio < 1.45 || ratio > 1.55 {
				t.Errorf("%s: %d pixels for %d of the SVG", name, size, want)
			}
		}
		if n := count(picture, c.colour); n < 20 {
			t.Errorf("%s: %d pixels of %v", name, n, c.colour)
		}
		if white := count(picture, color.RGBA{0xff, 0xff, 0xff, 0xff}); white < picture.Bounds().Dx()*picture.Bounds().Dy()/2 {
			t.Errorf("%s: %d white pixels", name, white)
		}
		if dir := os.Getenv("GCN_PICTURES"); dir != "" { // to look at them
			if err := os.WriteFile(filepath.Join(dir, name+".png"), c.chart.PNG(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if (&Chart{}).PNG() != nil {
		t.Error("the zero value has a picture")
	}
}

func count(picture image.Image, want color.RGBA) (n int) {
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if color.RGBAModel.Convert(picture.At(x, y)) == want {
				n++
			}
		}
	}
	return n
}

func BenchmarkPNG(b *testing.B) {
	chart := Draw(&figure.Figure{Title: "two lines", Panels: []figure.Panel{{X: "batch", Lines: []figure.Series{{X: []float64{0, 1}, Y: []float64{1, 2}}}}, {X: "batch"}}})
	for b.Loop() {
		chart.PNG()
	}
}

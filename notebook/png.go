package notebook

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/gcn-layerwise/gcn/internal/markup"
)

// pngScale is the number of pixels of a PNG picture to a pixel of the page, so that it is
// sharp on most screens.
const pngScale = 1.5

// painter draws on a PNG picture. Units and axes are SVG's: pixels of the page, y
// downwards.
type painter struct {
	canvas *vgimg.Canvas
	height float64
}

// writePNG writes a white picture with the marks of draw.
func writePNG(w io.Writer, width, height float64, draw func(p *painter)) error {
	const dots = 72 * pngScale // an inch; a unit is a point
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(width), vg.Length(height)), vgimg.UseDPI(dots), vgimg.UseBackgroundColor(color.White))
	draw(&painter{canvas, height})
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("notebook: %w", err)
	}
	return nil
}

func (p *painter) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(p.height - y)}
}

// text writes a line that begins at (x, y), the end of its first letter's foot, in at most
// the given width: letters are smaller if it does not fit.
func (p *painter) text(text string, x, y, size, width float64) {
	text = string(markup.Clean([]byte(text)))
	lookup := func(size float64) font.Face {
		return font.DefaultCache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, font.Points(size))
	}
	face := lookup(size)
	if wide := face.Width(text).Points(); wide > width {
		face = lookup(size * width / wide)
	}
	p.canvas.SetColor(color.Black)
	p.canvas.FillString(face, p.at(x, y), text)
}

func (p *painter) line(from, to [2]float64, c color.Color) {
	var path vg.Path
	path.Move(p.at(from[0], from[1]))
	path.Line(p.at(to[0], to[1]))
	p.canvas.SetLineWidth(1)
	p.canvas.SetColor(c)
	p.canvas.Stroke(path)
}

// disc draws a disc with an outline.
func (p *painter) disc(at [2]float64, radius float64, fill color.Color) {
	var path vg.Path
	centre := p.at(at[0], at[1])
	path.Move(vg.Point{X: centre.X + vg.Length(radius), Y: centre.Y})
	path.Arc(centre, vg.Length(radius), 0, 2*math.Pi)
	path.Close()
	p.shape(path, fill, 0.7, color.White)
}

// diamond draws a square on its corner with an outline.
func (p *painter) diamond(at [2]float64, fill color.Color) {
	var path vg.Path
	path.Move(p.at(at[0], at[1]-diamondRadius))
	path.Line(p.at(at[0]+diamondRadius, at[1]))
	path.Line(p.at(at[0], at[1]+diamondRadius))
	path.Line(p.at(at[0]-diamondRadius, at[1]))
	path.Close()
	p.shape(path, fill, 1.5, color.Black)
}

func (p *painter) shape(path vg.Path, fill color.Color, width float64, outline color.Color) {
	p.canvas.SetColor(fill)
	p.canvas.Fill(path)
	p.canvas.SetLineWidth(vg.Length(width))
	p.canvas.SetColor(outline)
	p.canvas.Stroke(path)
}

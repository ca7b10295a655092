package figure

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// fonts are the font families of a chart's text, as CSS names. The first is the font that
// widths are computed with; the others are close to it.
const fonts = "Liberation Sans,Arimo,Arial,Helvetica,sans-serif"

// lengthAttributes returns attributes of an SVG text element that give the text its width,
// with a space behind them. A reader with another font then fits the text into the same
// place.
func lengthAttributes(width float64) string {
	if !(width > 0) {
		return ""
	}
	return fmt.Sprintf(`textLength="%.5g" lengthAdjust="spacingAndGlyphs" `, width)
}

// measured is an SVG canvas that keeps the width of each text, in the font that the layout
// was computed with.
type measured struct {
	*vgsvg.Canvas
	widths []vg.Length
}

// FillString implements vg.Canvas.
func (m *measured) FillString(face font.Face, at vg.Point, text string) {
	m.widths = append(m.widths, face.Width(text))
	m.Canvas.FillString(face, at, text)
}

// withWidths gives each text of the document its width, so that a reader that has another
// font fits the text into the same place.
func (m *measured) withWidths(svg []byte) []byte {
	const element = "<text "
	parts := bytes.Split(svg, []byte(element))
	if len(parts) != len(m.widths)+1 { // a text is escaped, so it holds no element
		return svg
	}
	out := bytes.NewBuffer(parts[0])
	for k, part := range parts[1:] {
		out.WriteString(element)
		out.WriteString(lengthAttributes(m.widths[k].Points()))
		out.Write(part)
	}
	return out.Bytes()
}

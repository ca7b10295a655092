package figure

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

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
		if m.widths[k] > 0 {
			fmt.Fprintf(out, `textLength="%.5g" lengthAdjust="spacingAndGlyphs" `, m.widths[k].Points())
		}
		out.Write(part)
	}
	return out.Bytes()
}

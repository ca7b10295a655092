// Package figure draws the studies' charts as SVG and PNG files: lines with error
// bars, scatter plots with a fitted line, histograms.
//
//	study: tables of numbers ─▶ figure.Figure ─▶ NAME.svg, NAME.png
//
// Colours are those of Okabe & Ito (2008), which stay apart for colour-blind
// readers; series differ by dash pattern and marker too. The legend has a strip
// of its own beside the panels, so that it covers no data.
package figure

// Package figure draws the studies' charts as SVG and PNG files: lines with error
// bars, scatter plots with a fitted line, histograms.
//
//	study: tables of numbers ─▶ figure.Figure ─▶ NAME.svg, NAME.png
//
// Colours are from Okabe & Ito (2008), and stay apart for colour-blind readers.
// Series also differ by dash pattern and marker. The legend has a strip of its own
// beside the panels, so that it covers no data.
package figure

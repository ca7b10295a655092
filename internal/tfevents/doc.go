// Package tfevents writes TensorBoard event files: scalars over steps.
//
//	evaluations of a run ─▶ tfevents.Writer ─▶ events.out.tfevents.* ─▶ TensorBoard
//
// A file is a sequence of TFRecords, each a length, a payload and checksums of
// both; a payload is an Event message of TensorFlow in the protocol buffers' wire
// format. Only the few fields that scalars need are written.
package tfevents

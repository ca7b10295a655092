// Package tfevents writes TensorBoard event files: scalars over steps.
//
//	evaluations of a run ─▶ tfevents.Append ─▶ events.out.tfevents.* ─▶ TensorBoard
//
// A file is a sequence of TFRecords. A TFRecord is a length, a payload and checksums
// of both. The payload is TensorFlow's message Event in the wire format of protocol
// buffers. The package writes only the few fields that scalars need.
package tfevents

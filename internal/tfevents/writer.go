package tfevents

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Scalar is one named value.
type Scalar struct {
	Tag   string // "valid/accuracy": TensorBoard groups charts by the part before the slash
	Value float32
}

// Writer writes events to one file. Make it with NewWriter.
type Writer struct {
	w io.Writer
}

// NewWriter returns a writer. It writes the first record of the file, which holds
// the format's version.
func NewWriter(w io.Writer, now time.Time) (*Writer, error) {
	t := &Writer{w: w}
	e := appendTime(nil, now)
	e = appendBytes(e, eventFileVersion, []byte("brain.Event:2"))
	return t, t.record(e)
}

// Write writes one event: scalars at a step.
func (t *Writer) Write(now time.Time, step int64, scalars ...Scalar) error {
	var summary []byte
	for _, s := range scalars {
		value := appendBytes(nil, valueTag, []byte(s.Tag))
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(s.Value))
		summary = appendBytes(summary, summaryValue, value)
	}
	e := appendTime(nil, now)
	e = protowire.AppendTag(e, eventStep, protowire.VarintType)
	e = protowire.AppendVarint(e, uint64(step))
	e = appendBytes(e, eventSummary, summary)
	return t.record(e)
}

// Field numbers of the messages Event, Summary and Summary.Value of TensorFlow.
const (
	eventWallTime    = 1 // double, seconds since 1970
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary
	summaryValue     = 1 // repeated Value
	valueTag         = 1 // string
	valueSimple      = 2 // float
)

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func appendTime(b []byte, now time.Time) []byte {
	seconds := float64(now.UnixMicro()) / 1e6
	b = protowire.AppendTag(b, eventWallTime, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(seconds))
}

// record writes one TFRecord: length, checksum of the length, payload, checksum
// of the payload.
func (t *Writer) record(payload []byte) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, payload...)
	b = binary.LittleEndian.AppendUint32(b, masked(payload))
	_, err := t.w.Write(b)
	return err
}

// masked returns the CRC-32C of data, rotated and offset as in TFRecords.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + 0xa282ead8
}

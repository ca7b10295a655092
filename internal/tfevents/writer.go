package tfevents

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Scalar is one named value.
type Scalar struct {
	Tag   string // "valid/accuracy": TensorBoard groups charts by the part before the slash
	Value float32
}

// Begin returns the first record of a file, which holds the format's version.
func Begin(now time.Time) (file []byte) {
	return appendRecord(nil, appendBytes(atTime(now), eventFileVersion, []byte("brain.Event:2")))
}

// Append appends an event to a file: scalars at a step.
func Append(file []byte, now time.Time, step int64, scalars ...Scalar) []byte {
	var summary []byte
	for _, s := range scalars {
		value := appendBytes(nil, valueTag, []byte(s.Tag))
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(s.Value))
		summary = appendBytes(summary, summaryValue, value)
	}
	e := atTime(now)
	e = protowire.AppendTag(e, eventStep, protowire.VarintType)
	e = protowire.AppendVarint(e, uint64(step))
	return appendRecord(file, appendBytes(e, eventSummary, summary))
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

// atTime returns the beginning of an Event.
func atTime(now time.Time) []byte {
	seconds := float64(now.UnixMicro()) / 1e6
	return protowire.AppendFixed64(protowire.AppendTag(nil, eventWallTime, protowire.Fixed64Type), math.Float64bits(seconds))
}

// appendRecord appends a TFRecord: length, checksum of the length, payload, checksum of the
// payload.
func appendRecord(file, payload []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(payload)))
	file = append(file, length...)
	file = binary.LittleEndian.AppendUint32(file, masked(length))
	file = append(file, payload...)
	return binary.LittleEndian.AppendUint32(file, masked(payload))
}

// masked returns the CRC-32C of data, rotated and offset as in TFRecords.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + 0xa282ead8
}

package tfevents_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gcn-layerwise/gcn/internal/tfevents"
)

// crc32c computes the CRC-32C bit by bit, with Castagnoli's reflected polynomial.
func crc32c(data []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range data {
		sum ^= uint32(b)
		for range 8 {
			if sum&1 != 0 {
				sum = sum>>1 ^ 0x82f63b78
			} else {
				sum >>= 1
			}
		}
	}
	return ^sum
}

// mask applies the mask of the TFRecord format.
func mask(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

// event is a decoded Event.
type event struct {
	time    float64
	step    int64
	version string
	scalars map[string]float32
}

// records splits a file into payloads, checking lengths and checksums.
func records(t *testing.T, file []byte) [][]byte {
	t.Helper()
	var payloads [][]byte
	for len(file) > 0 {
		if len(file) < 16 {
			t.Fatalf("%d bytes left over", len(file))
		}
		n := binary.LittleEndian.Uint64(file)
		if got, want := binary.LittleEndian.Uint32(file[8:]), mask(crc32c(file[:8])); got != want {
			t.Fatalf("checksum of the length is %08x, want %08x", got, want)
		}
		payload := file[12 : 12+n]
		if got, want := binary.LittleEndian.Uint32(file[12+n:]), mask(crc32c(payload)); got != want {
			t.Fatalf("checksum of the payload is %08x, want %08x", got, want)
		}
		payloads = append(payloads, payload)
		file = file[16+n:]
	}
	return payloads
}

// fields visits the fields of a message with the decoder of protocol buffers.
func fields(t *testing.T, message []byte, visit func(field protowire.Number, kind protowire.Type, value []byte)) {
	t.Helper()
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		m := protowire.ConsumeFieldValue(field, kind, message)
		if m < 0 {
			t.Fatal(protowire.ParseError(m))
		}
		visit(field, kind, message[:m])
		message = message[m:]
	}
}

func decode(t *testing.T, payload []byte) event {
	t.Helper()
	e := event{scalars: map[string]float32{}}
	fields(t, payload, func(field protowire.Number, kind protowire.Type, value []byte) {
		switch {
		case field == 1 && kind == protowire.Fixed64Type:
			v, _ := protowire.ConsumeFixed64(value)
			e.time = math.Float64frombits(v)
		case field == 2 && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			e.step = int64(v)
		case field == 3 && kind == protowire.BytesType:
			e.version, _ = protowire.ConsumeString(value)
		case field == 5 && kind == protowire.BytesType:
			summary, _ := protowire.ConsumeBytes(value)
			fields(t, summary, func(field protowire.Number, _ protowire.Type, value []byte) {
				if field != 1 {
					t.Fatalf("field %d in a Summary", field)
				}
				message, _ := protowire.ConsumeBytes(value)
				var tag string
				var number float32
				fields(t, message, func(field protowire.Number, _ protowire.Type, value []byte) {
					switch field {
					case 1:
						tag, _ = protowire.ConsumeString(value)
					case 2:
						v, _ := protowire.ConsumeFixed32(value)
						number = math.Float32frombits(v)
					default:
						t.Fatalf("field %d in a Value", field)
					}
				})
				e.scalars[tag] = number
			})
		default:
			t.Fatalf("field %d of type %d in an Event", field, kind)
		}
	})
	return e
}

func TestAppend(t *testing.T) {
	start := time.Unix(1_700_000_000, 250_000_000)
	file := tfevents.Begin(start)
	file = tfevents.Append(file, start.Add(time.Second), 300, tfevents.Scalar{Tag: "loss/train", Value: 1.25}, tfevents.Scalar{Tag: "valid/accuracy", Value: 0.5})
	file = tfevents.Append(file, start.Add(2*time.Second), 1<<40, tfevents.Scalar{Tag: "loss/train", Value: -3})
	var got []event
	for _, p := range records(t, file) {
		got = append(got, decode(t, p))
	}
	want := []event{
		{1_700_000_000.25, 0, "brain.Event:2", map[string]float32{}},
		{1_700_000_001.25, 300, "", map[string]float32{"loss/train": 1.25, "valid/accuracy": 0.5}},
		{1_700_000_002.25, 1 << 40, "", map[string]float32{"loss/train": -3}},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// TestFirstRecord pins the bytes of a file's first record, computed by hand from
// the two formats. The function records checks the checksums.
func TestFirstRecord(t *testing.T) {
	payload := records(t, tfevents.Begin(time.Unix(1, 0)))[0]
	const want = "09" + "000000000000f03f" + // field 1, fixed64: 1.0
		"1a" + "0d" + "627261696e2e4576656e743a32" // field 3, 13 bytes: brain.Event:2
	if got := hex.EncodeToString(payload); got != want {
		t.Errorf("first record is %s, want %s", got, want)
	}
	// CRC-32C of "123456789" is the check value of the algorithm's definition.
	if got := crc32c([]byte("123456789")); got != 0xe3069283 {
		t.Errorf("the test's own CRC-32C is %08x", got)
	}
}

func ExampleAppend() {
	file := tfevents.Begin(time.Unix(0, 0))
	file = tfevents.Append(file, time.Unix(1, 0), 10, tfevents.Scalar{Tag: "loss", Value: 0.5})
	fmt.Println(len(file), "bytes")
	// Output: 82 bytes
}

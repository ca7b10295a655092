package datasets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
)

// The store is the project's own file format for one data set. It is opened by
// mapping it: its arrays are little-endian, as in memory, and each begins at a
// multiple of 64 bytes.
//
//	 0  "GCNSTORE"      magic
//	 8  uint32          version: 5 if the features are sparse, else 4 if there are
//	                    names of nodes or the graph is directed, else 3 if there are
//	                    propagated features, else 2 if the features are float16, else 1
//	12  uint32          number of sections, n
//	16  uint64          size of the file in bytes
//	24  32 bytes        zero
//	56  uint32          CRC-32C of the header, this field as zero, and the table
//	60  uint32          zero
//	64  n × 48 bytes    table: uint32 kind, uint32 element type, uint64 rows,
//	                    uint64 columns, uint64 offset, uint64 bytes, uint32 CRC-32C
//	                    of the section, uint32 zero
//	 …  sections        in the order of the table, zeros between them
//
// The header is written last, so that an incomplete file does not open.

const (
	storeMagic   = "GCNSTORE"
	storeVersion = 5 // the newest that is read
	storeAlign   = 64
	headerBytes  = 64
	entryBytes   = 48
	mostSections = 64
	mostMeta     = 1 << 24 // bytes of the section that is JSON
)

// ErrFormat is wrapped by errors about a file that is a damaged or incomplete store,
// or not a store. ErrVersion is wrapped by errors about a store of a newer version
// of this package.
var (
	ErrFormat  = errors.New("not a valid store")
	ErrVersion = errors.New("newer than this program")
)

// sectionKind names the content of a section. The numbers are part of the format.
type sectionKind uint32

const (
	sectionMeta     sectionKind = 1  // storeMeta as JSON
	sectionPtr      sectionKind = 2  // row offsets, nodes+1
	sectionIdx      sectionKind = 3  // columns
	sectionVal      sectionKind = 4  // values; absent where all are 1
	sectionFeatures sectionKind = 5  // nodes × features
	sectionClass    sectionKind = 6  // class of each node
	sectionTasks    sectionKind = 7  // nodes × binary tasks
	sectionTrain    sectionKind = 8  // node ids
	sectionValid    sectionKind = 9  //
	sectionTest     sectionKind = 10 //

	sectionPropagated sectionKind = 11 // P·X, nodes × features; since version 3

	sectionNames    sectionKind = 12 // text of the nodes' names; since version 4
	sectionNameEnds sectionKind = 13 // the end of each name in the text; since version 4

	// Sparse features, in place of sectionFeatures; since version 5.
	sectionSparsePtr sectionKind = 14 // row offsets, nodes+1
	sectionSparseIdx sectionKind = 15 // columns
	sectionSparseVal sectionKind = 16 // values; absent where all are 1
)

// sectionKinds holds the name of each kind, and the type of its numbers. Features,
// propagated or not, may be float16 instead.
var sectionKinds = [...]struct {
	name    string
	element elementType
}{
	sectionMeta:     {"description", elementByte},
	sectionPtr:      {"row offsets", elementInt64},
	sectionIdx:      {"columns", elementInt32},
	sectionVal:      {"edge values", elementFloat32},
	sectionFeatures: {"features", elementFloat32},
	sectionClass:    {"classes", elementInt32},
	sectionTasks:    {"tasks", elementFloat32},
	sectionTrain:    {"training nodes", elementInt32},
	sectionValid:    {"validation nodes", elementInt32},
	sectionTest:     {"test nodes", elementInt32},

	sectionPropagated: {"propagated features", elementFloat32},

	sectionNames:    {"names of nodes", elementByte},
	sectionNameEnds: {"ends of names", elementInt64},

	sectionSparsePtr: {"row offsets of the features", elementInt64},
	sectionSparseIdx: {"columns of the features", elementInt32},
	sectionSparseVal: {"values of the features", elementFloat32},
}

// since returns the first version of the format that has sections of a kind.
func (k sectionKind) since() uint32 {
	switch k {
	case sectionPropagated:
		return 3
	case sectionNames, sectionNameEnds:
		return 4
	case sectionSparsePtr, sectionSparseIdx, sectionSparseVal:
		return 5
	}
	return 1
}

func (k sectionKind) String() string {
	if k.element() == 0 {
		return fmt.Sprintf("section of kind %d", uint32(k))
	}
	return sectionKinds[k].name
}

// elementType is the type of a section's numbers.
type elementType uint32

const (
	elementByte    elementType = 1
	elementInt32   elementType = 2
	elementInt64   elementType = 3
	elementFloat32 elementType = 4
	elementFloat16 elementType = 5 // IEEE 754 half precision; since version 2
)

func (e elementType) size() uint64 {
	switch e {
	case elementByte:
		return 1
	case elementFloat16:
		return 2
	case elementInt32, elementFloat32:
		return 4
	case elementInt64:
		return 8
	}
	return 0
}

// element returns the type of the numbers in sections of a kind, or 0 for an unknown
// kind.
func (k sectionKind) element() elementType {
	if int64(k) >= int64(len(sectionKinds)) {
		return 0
	}
	return sectionKinds[k].element
}

// allows tells whether sections of a kind may hold numbers of type e in a store of
// the given version.
func (k sectionKind) allows(e elementType, version uint32) bool {
	if version < k.since() {
		return false
	}
	return e == k.element() || k.features() && e == elementFloat16 && version >= 2
}

// features tells whether sections of a kind hold a matrix of features.
func (k sectionKind) features() bool { return k == sectionFeatures || k == sectionPropagated }

// section is an entry of the table.
type section struct {
	kind          sectionKind
	element       elementType
	rows, cols    uint64
	offset, bytes uint64
	checksum      uint32
}

// storeMeta is the part of a store that is not arrays.
type storeMeta struct {
	Source     string   `json:"source"` // SPEC of the stored data
	Metric     Metric   `json:"metric"`
	Classes    int      `json:"classes"`
	Tasks      int      `json:"tasks"`
	Notes      []string `json:"notes"`
	Given      int64    `json:"given"`
	SelfLoops  int64    `json:"self_loops"`
	Duplicates int64    `json:"duplicates"`
	Edges      int64    `json:"edges"`

	ClassNames []string `json:"class_names,omitempty"` // of tasks too
	Directed   bool     `json:"directed,omitempty"`    // since version 4

	Columns int `json:"columns,omitempty"` // of sparse features; since version 5
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// encodeHeader returns header and table. The version is the oldest that can hold the
// sections, so that older programs can read the store.
func encodeHeader(size uint64, sections []section, directed bool) []byte {
	le := binary.LittleEndian
	version := uint32(1)
	if directed {
		version = 4
	}
	for _, s := range sections {
		version = max(version, s.kind.since())
		if s.element == elementFloat16 {
			version = max(version, 2)
		}
	}
	b := make([]byte, headerBytes, headerBytes+entryBytes*len(sections))
	copy(b, storeMagic)
	le.PutUint32(b[8:], version)
	le.PutUint32(b[12:], uint32(len(sections)))
	le.PutUint64(b[16:], size)
	for _, s := range sections {
		b = le.AppendUint32(b, uint32(s.kind))
		b = le.AppendUint32(b, uint32(s.element))
		b = le.AppendUint64(b, s.rows)
		b = le.AppendUint64(b, s.cols)
		b = le.AppendUint64(b, s.offset)
		b = le.AppendUint64(b, s.bytes)
		b = le.AppendUint32(b, s.checksum)
		b = le.AppendUint32(b, 0)
	}
	le.PutUint32(b[56:], crc32.Checksum(b, castagnoli()))
	return b
}

// decodeHeader checks header and table of a file of size bytes. b is its beginning,
// and long enough for the largest table. The sections come in the file's order. They
// have known kinds, each at most once, and lie inside the file without overlap.
func decodeHeader(b []byte, size uint64) ([]section, error) {
	le := binary.LittleEndian
	if len(b) < headerBytes || string(b[:8]) != storeMagic {
		return nil, fmt.Errorf("does not begin like a store: %w", ErrFormat)
	}
	version := le.Uint32(b[8:])
	if version > storeVersion {
		return nil, fmt.Errorf("store of version %d, this program reads up to %d: %w", version, storeVersion, ErrVersion)
	}
	if version == 0 {
		return nil, fmt.Errorf("version 0: %w", ErrFormat)
	}
	if recorded := le.Uint64(b[16:]); recorded != size {
		return nil, fmt.Errorf("is %d bytes long, was written with %d: %w", size, recorded, ErrFormat)
	}
	count := le.Uint32(b[12:])
	end := uint64(headerBytes) + entryBytes*uint64(count)
	if count > mostSections || end > uint64(len(b)) {
		return nil, fmt.Errorf("table of %d sections does not fit: %w", count, ErrFormat)
	}
	head := bytes.Clone(b[:end])
	le.PutUint32(head[56:], 0)
	if crc32.Checksum(head, castagnoli()) != le.Uint32(b[56:]) {
		return nil, fmt.Errorf("header and its checksum differ: %w", ErrFormat)
	}
	var sections []section
	seen := map[sectionKind]bool{}
	for k := range count {
		e := b[headerBytes+entryBytes*k:]
		s := section{
			kind: sectionKind(le.Uint32(e)), element: elementType(le.Uint32(e[4:])),
			rows: le.Uint64(e[8:]), cols: le.Uint64(e[16:]),
			offset: le.Uint64(e[24:]), bytes: le.Uint64(e[32:]), checksum: le.Uint32(e[40:]),
		}
		switch {
		case s.kind.element() == 0 || seen[s.kind]:
			return nil, fmt.Errorf("section %d: %v is unknown or there twice: %w", k, s.kind, ErrFormat)
		case !s.kind.allows(s.element, version):
			return nil, fmt.Errorf("%v: element type %d, want %d: %w", s.kind, s.element, s.kind.element(), ErrFormat)
		case s.rows > math.MaxInt || s.cols == 0 || s.rows > math.MaxInt/s.element.size()/s.cols || s.rows*s.cols*s.element.size() != s.bytes:
			return nil, fmt.Errorf("%v: %d×%d elements in %d bytes: %w", s.kind, s.rows, s.cols, s.bytes, ErrFormat)
		case s.offset%storeAlign != 0 || s.offset < end || s.offset > size || s.bytes > size-s.offset:
			return nil, fmt.Errorf("%v: %d bytes at %d of a file of %d: %w", s.kind, s.bytes, s.offset, size, ErrFormat)
		}
		seen[s.kind] = true
		end = s.offset + s.bytes
		sections = append(sections, s)
	}
	if end != size {
		return nil, fmt.Errorf("sections end at %d of %d bytes: %w", end, size, ErrFormat)
	}
	return sections, nil
}

// number is the type of the numbers in a section, or in a temporary file.
type number interface {
	byte | uint16 | int32 | int64 | float32 | graph.Edge
}

// littleEndian tells whether this machine has the byte order of stores.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// view returns the numbers of a section without copying them. b holds the section's
// bytes in this machine's byte order.
func view[T number](b []byte) ([]T, error) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(b) == 0 {
		return nil, nil
	}
	start := unsafe.Pointer(unsafe.SliceData(b))
	if len(b)%size != 0 || uintptr(start)%uintptr(size) != 0 {
		return nil, fmt.Errorf("%d bytes not aligned to %d: %w", len(b), size, ErrFormat)
	}
	return unsafe.Slice((*T)(start), len(b)/size), nil
}

// byteView is the inverse of view.
func byteView[T number](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(zero)))
}

// swapBytes reverses the bytes of each number of the given size, in place.
func swapBytes(b []byte, size uint64) {
	switch size {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			binary.BigEndian.PutUint16(b, binary.LittleEndian.Uint16(b))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.BigEndian.PutUint32(b, binary.LittleEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.BigEndian.PutUint64(b, binary.LittleEndian.Uint64(b))
		}
	}
}

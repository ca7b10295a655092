package finite

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"
)

type inner struct {
	A float64 `json:"a"`
	B int     `json:"b"`
}

type base struct{ Hidden float64 }

type outer struct {
	inner32   float32
	Inner     inner   `json:"inner"`
	*Embedded         // its fields are outer's
	Skipped   float64 `json:"-"`
	Empty     float64 `json:"empty,omitempty"`
	Single    float32
	List      []inner
	Pair      [2]float64
	ByName    map[string]float64
	Any       any
	Pointer   *float64
	When      time.Time
	Raw       json.RawMessage
	Bytes     []byte
	None      []float64
}

type Embedded struct {
	Mean float64 `json:"mean"`
	N    int     `json:"n"`
}

func example(bad float64) outer {
	return outer{
		inner32: 3, Inner: inner{bad, 1}, Embedded: &Embedded{bad, 2}, Skipped: bad, Single: float32(bad), List: []inner{{1.5, 3}, {bad, 4}},
		Pair: [2]float64{0.1, bad}, ByName: map[string]float64{"x": bad, "y": 1e300}, Any: inner{bad, 5}, Pointer: &bad,
		When: time.Unix(0, 0).UTC(), Raw: json.RawMessage(`{"k":[1]}`), Bytes: []byte("ab"),
	}
}

// TestJSON checks that numbers that are not finite become null. All else is as
// encoding/json writes it.
func TestJSON(t *testing.T) {
	for _, v := range []any{example(0.25), &outer{}, []float64{1, 2}, nil, "text", 3, map[string]any{"a": []any{1.5, nil}}, struct{ base }{base{1}}} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(JSON(v)); err != nil || string(got) != string(want) {
			t.Errorf("%s, want %s; %v", got, want, err)
		}
	}
	const want = `{"inner":{"a":null,"b":1},"mean":null,"n":2,"Single":null,"List":[{"a":1.5,"b":3},{"a":null,"b":4}],"Pair":[0.1,null],` +
		`"ByName":{"x":null,"y":1e+300},"Any":{"a":null,"b":5},"Pointer":null,"When":"1970-01-01T00:00:00Z","Raw":{"k":[1]},"Bytes":"YWI=","None":null}`
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got, err := json.Marshal(JSON(example(bad))); err != nil || string(got) != want {
			t.Errorf("%v: %s, want %s; %v", bad, got, want, err)
		}
	}
}

// TestUnmarshal checks that null reads as NaN. All else is as encoding/json reads
// it.
func TestUnmarshal(t *testing.T) {
	text, err := json.Marshal(JSON(example(math.NaN())))
	if err != nil {
		t.Fatal(err)
	}
	var got outer
	if err := Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for k, v := range []float64{got.Inner.A, got.Mean, float64(got.Single), got.List[1].A, got.Pair[1], got.ByName["x"]} {
		if !math.IsNaN(v) {
			t.Errorf("number %d is %v, want NaN", k, v)
		}
	}
	if text, err = json.Marshal(example(0.25)); err != nil {
		t.Fatal(err)
	}
	got, want := outer{Skipped: 7}, outer{Skipped: 7}
	if err := Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if Unmarshal([]byte("{}"), got) == nil || Unmarshal([]byte("{"), &got) == nil || Unmarshal([]byte(`{"inner":{"a":"x"}}`), &got) == nil {
		t.Error("no error")
	}
}

func TestText(t *testing.T) {
	for v, want := range map[float64]string{0.1: "0.1", 1e300: "1e+300", math.Inf(1): "", math.Inf(-1): "", -2: "-2"} {
		if got := Text(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
	if Text(math.NaN()) != "" {
		t.Error("NaN is written")
	}
}

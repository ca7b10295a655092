package session

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cosmos72/gomacro/ast2"
	"github.com/cosmos72/gomacro/base"
)

func TestFlushKeepsOrder(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer // guarded by Flush: the display below runs while Forward waits
	s := NewStream(w)
	go s.Forward(&got, r)
	var want strings.Builder
	show := InOrder(func(d Data) error {
		_, err := fmt.Fprint(&got, d.Data["text/plain"])
		return err
	}, s)
	for k := range 200 {
		fmt.Fprint(w, k, " ")
		if err := show(Data{Data: map[string]any{"text/plain": "shown "}}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(&want, k, " shown ")
	}
	w.Close()
	<-s.done
	if got.String() != want.String() {
		t.Errorf("got %q", got.String())
	}
	s.Flush() // after the end: returns
}

// A mark may come in pieces, and text may look like the beginning of one.
func TestForwardPieces(t *testing.T) {
	half := string(mark[:len(mark)/2])
	text := "a" + half + "b" + string(mark) + string(mark) + "c\n" + half
	for name, src := range map[string]io.Reader{
		"whole":  strings.NewReader(text),
		"bytes":  iotest.OneByteReader(strings.NewReader(text)),
		"halves": iotest.HalfReader(strings.NewReader(text)),
		"at end": iotest.DataErrReader(strings.NewReader(text)),
	} {
		s := NewStream(nil)
		s.reached = make(chan struct{}, 3)
		var got strings.Builder
		s.Forward(&got, src)
		if want := "a" + half + "bc\n" + half; got.String() != want {
			t.Errorf("%s: got %q, want %q", name, got.String(), want)
		}
		if n := len(s.reached); n != 2 {
			t.Errorf("%s: %d marks, want 2", name, n)
		}
	}
}

func TestForwardLong(t *testing.T) {
	text := strings.Repeat("0123456789", 20_000)
	s := NewStream(nil)
	var got strings.Builder
	s.Forward(&got, strings.NewReader(text))
	if got.String() != text {
		t.Errorf("%d bytes of %d", got.Len(), len(text))
	}
}

func TestText(t *testing.T) {
	type loop struct {
		Next *loop
		N    int
	}
	l := &loop{N: 1}
	l.Next = l
	for _, test := range []struct {
		values []any
		want   string
	}{
		{[]any{3, nil, "x"}, "3 <nil> x"},
		{[]any{[]int{1, 2}}, "[1 2]"},
		{[]any{make([]byte, 100_000)}, "[]uint8 (too large to print)"},
		{[]any{&struct{ A [][]int }{[][]int{make([]int, 3000)}}}, "*struct { A [][]int } (too large to print)"},
		{[]any{map[string][]int{"a": make([]int, 3000)}}, "map[string][]int (too large to print)"},
		{[]any{errors.New(strings.Repeat("e", 30_000))}, strings.Repeat("e", 30_000)},
		{[]any{7, make([]any, 3000)}, "7 []interface {} (too large to print)"},
	} {
		if got := Text(test.values...); got != test.want {
			t.Errorf("got %.100q, want %.100q", got, test.want)
		}
	}
	if got := Text(l); !strings.HasPrefix(got, "&{0x") { // ends, as pointers are not followed
		t.Errorf("a loop of pointers: %q", got)
	}
}

func TestCheckImports(t *testing.T) {
	for source, want := range map[string]string{
		`import "fmt"`:             "",
		`import r "image/draw"`:    "",
		`import "slices"`:          `import "slices": not linked into this kernel, whose interpreter has no generics (notebooks/README.md tells how to add a package)`,
		`import ("fmt"; "draw")`:   `import "draw": not linked into this kernel, but image/draw is (notebooks/README.md tells how to add a package)`,
		`import "example.org/own"`: `import "example.org/own": not linked into this kernel (notebooks/README.md tells how to add a package)`,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "cell.go", "package p\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []ast.Node
		for _, d := range file.Decls {
			nodes = append(nodes, d)
		}
		got := ""
		if err := CheckImports(nodes); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

func TestShows(t *testing.T) {
	for source, want := range map[string]bool{
		"x": true, "x + 1": true, "f(x)": true, "v.M()": true, "fmt.Sprint(x)": true, "fmt.Errorf(x)": true, "a.fmt.Println()": true,
		"fmt.Println(x)": false, "fmt.Printf(x)": false, "fmt.Fprintln(w)": false,
	} {
		e, err := parser.ParseExpr(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := Shows(e); got != want {
			t.Errorf("Shows(%s) = %v", source, got)
		}
	}
	if Shows(&ast.EmptyStmt{}) {
		t.Error("a statement has no value to show")
	}
}

func TestDisplayMessage(t *testing.T) {
	transient := map[string]any{"display_id": "a", "update": true}
	if got := DisplayMessage(transient); got != "update_display_data" {
		t.Error(got)
	}
	if len(transient) != 1 {
		t.Errorf("left in the message: %v", transient)
	}
	if got := DisplayMessage(transient); got != "display_data" {
		t.Error(got)
	}
	if got := DisplayMessage(nil); got != "display_data" {
		t.Error(got)
	}
}

func TestError(t *testing.T) {
	own := errors.New("own")
	if got := Error(own); got != own {
		t.Error(got)
	}
	func() {
		defer func() {
			if got := Error(recover()); got != errNilField {
				t.Error(got)
			}
		}()
		reflect.Value{}.Field(0)
	}()
	if got := Error("text"); got.Error() != "text" {
		t.Error(got)
	}
	if got := Error(base.SigInterrupt); got != errInterrupted {
		t.Error(got)
	}
}

// An interrupt stops interpreted code after the grace period, and the interpreter
// goes on with its variables. While nothing is watched it does nothing.
func TestWatchInterrupt(t *testing.T) {
	ir := NewInterpreter()
	interrupt := func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(os.Interrupt)
		}
		if err != nil {
			t.Error(err)
		}
	}
	eval := func(source string) (value any, err error) {
		defer WatchInterrupt(ir)()
		defer func() {
			if p := recover(); p != nil {
				err = Error(p)
			}
		}()
		ir.Comp.Options &^= base.OptTrapPanic
		v, _ := ir.Eval1(source)
		return v.Interface(), nil
	}
	interrupt()
	time.Sleep(100 * time.Millisecond) // signals come when they come
	if _, err := eval("n := 0\nn"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	time.AfterFunc(100*time.Millisecond, interrupt)
	if _, err := eval("for { n++ }\nn"); err != errInterrupted {
		t.Fatal(err)
	}
	if took := time.Since(began); took < grace || took > grace+5*time.Second {
		t.Errorf("stopped after %v, want %v later than the interrupt", took, grace)
	}
	if v, err := eval("n > 0"); v != true || err != nil {
		t.Error(v, err)
	}
}

// Every loop has the result that the Go compiler gives it.
func TestLoopVariables(t *testing.T) {
	ir := NewInterpreter()
	ir.Comp.Options &^= base.OptTrapPanic
	ir.Comp.Stdout, ir.Comp.Stderr = io.Discard, io.Discard // says that test is redefined
	for body, want := range map[string]string{
		"for i := 0; i < 3; i++ { add(func() int { return i }) }":                                           "[0 1 2]",
		"for i := 0; i < 3; i++ { j := i; add(func() int { return j }) }":                                   "[0 1 2]",
		"for i, j := 0, 9; i < 3; i, j = i+1, j-1 { add(func() int { return i*10 + j }) }":                  "[9 18 27]",
		"for _, v := range []int{4, 5} { add(func() int { return v }) }":                                    "[4 5]",
		"for k, v := range []int{4, 5} { v += k; add(func() int { return v }) }":                            "[4 6]",
		"for _, v := range []int{4, 5} { p := &v; add(func() int { return *p }) }":                          "[4 5]",
		"for k := range []int{4, 5} { for l := range []int{6, 7} { add(func() int { return 10*k + l }) } }": "[0 1 10 11]",
		"for i := 0; i < 6; i++ { i++; n := i; add(func() int { return n }) }":                              "[1 3 5]",
		"for i := 0; i < 3; i++ { if i == 1 { continue }; add(func() int { return i }) }":                   "[0 2]",
		"var i int; for i = 0; i < 3; i++ { add(func() int { return i }) }":                                 "[3 3 3]",
		"for i := 0; i < 2; i++ { func(n int) { add(func() int { return n + i }) }(5) }":                    "[5 6]",
	} {
		source := "func test() interface{} { var fs []func() int; add := func(f func() int) { fs = append(fs, f) }\n" + body +
			"\nvar got []int; for _, f := range fs { got = append(got, f()) }; return got }\ntest()"
		nodes := ir.Comp.ParseBytes([]byte(source))
		LoopVariables(nodes)
		got, _ := ir.RunExpr1(ir.CompileAst(ast2.AnyToAst(nodes, "test")))
		if fmt.Sprint(got.Interface()) != want {
			t.Errorf("%s: %v, want %s", body, got.Interface(), want)
		}
	}
}

func TestRequest(t *testing.T) {
	ir := NewInterpreter()
	ir.Comp.Stdout, ir.Comp.Stderr = io.Discard, io.Discard
	ir.Eval(`import ("strings"; "time")
count := 3
where := &time.Location{}
type own struct { A int; b string }
var o own`)
	for code, want := range map[string]string{
		"count":                 "count int",
		"1 + count":             "count int",
		"strings.Repeat(":       "strings.Repeat func(string, int) string",
		"x := strings.ToUpper":  "strings.ToUpper func(string) string",
		"strings":               `package strings // "strings"`,
		"where.String":          "where.String func(*time.Location) string",
		"time.Now":              "time.Now func() time.Time",
		"o.A":                   "o.A int",
		"o.b":                   "o.b string",
		"time.Second":           "time.Second time.Duration",
		"own":                   "type own struct {\n\tA int\n\tb string\n}",
		"strings.Nothing":       "",
		"nothing":               "",
		"count.":                "count int",
		"o.c":                   "",
		"":                      "",
		"((":                    "",
		"Füße := count":         "count int",
		"strings.Reader":        "*",
		"time.Now.Nothing.More": "",
	} {
		cursor := float64(len([]rune(code)))
		reply, answer, known := Request(ir, "inspect_request", map[string]any{"code": code, "cursor_pos": cursor})
		if !known || reply != "inspect_reply" {
			t.Fatal(reply, known)
		}
		got, _ := answer["data"].(map[string]any)["text/plain"].(string)
		if want == "*" {
			if !strings.HasPrefix(got, "type strings.Reader struct {\n}\n") || !strings.Contains(got, "\nLen func(*strings.Reader) int") {
				t.Errorf("%q: %q", code, got)
			}
		} else if got != want || answer["found"] != (want != "") {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
	for _, at := range []float64{-3, 0, 2, 99} { // inside and outside of the code
		Request(ir, "inspect_request", map[string]any{"code": "count", "cursor_pos": at})
	}
	if reply, answer, _ := Request(ir, "comm_info_request", nil); reply != "comm_info_reply" || answer["comms"] == nil {
		t.Error(reply, answer)
	}
	if _, _, known := Request(ir, "other_request", nil); known {
		t.Error("an unknown request was answered")
	}
}

// Command patch makes the kernel's main package from a release of gophernotes:
//
//	go run ./patch SOURCE FOLDER
//
// SOURCE is the downloaded module; it is not changed. The command writes a changed
// copy to FOLDER, and overlay.json. With it go build -overlay compiles the copy as the
// package ./gophernotes of this module. So this repository holds no file of
// gophernotes.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: patch SOURCE FOLDER")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal("patch: ", err)
	}
}

// edit replaces a text that occurs exactly once in a file.
type edit struct{ old, new string }

const here = "github.com/gcn-layerwise/gcn/notebooks/kernel/"

// changes holds the edits of each copied file.
var changes = map[string][]edit{
	"complete.go": nil,
	"display.go": {
		{"MakeData(MIMETypeText, fmt.Sprint(vals...))", "MakeData(MIMETypeText, session.Text(vals...))"},
		{"\t\t\ts = fmt.Sprint(arg)\n", "\t\t\ts = session.Text(arg)\n"},
		{
			"\tbasereflect \"github.com/cosmos72/gomacro/base/reflect\"\n",
			"\t\"" + here + "session\"\n\tbasereflect \"github.com/cosmos72/gomacro/base/reflect\"\n",
		},
	},
	"image.go": nil,
	"main.go":  nil,
	"kernel.go": {
		{"\t\"errors\"\n", ""},
		{"\t\"go/ast\"\n", ""},
		{ // the packages that cells can import
			"\t_ \"github.com/gopherdata/gophernotes/imports\"\n",
			"\t_ \"" + here + "bindings\"\n\t\"" + here + "session\"\n",
		},
		{
			"\tdefault:\n\t\tlog.Println(\"Unhandled shell message: \", receipt.Msg.Header.MsgType)\n",
			"\tdefault:\n\t\tif reply, content, ok := session.Request(ir, receipt.Msg.Header.MsgType, receipt.Msg.Content); ok {\n" +
				"\t\t\tif err := receipt.Reply(reply, content); err != nil {\n\t\t\t\tlog.Fatal(err)\n\t\t\t}\n\t\t} else {\n" +
				"\t\t\tlog.Println(\"Unhandled shell message: \", receipt.Msg.Header.MsgType)\n\t\t}\n",
		},
		{"ir := interp.New()", "ir := session.NewInterpreter()"},
		{
			"\tjupyterStdOut := Jupyter",
			"\tout, outErr := session.NewStream(wOut), session.NewStream(wErr)\n\tjupyterStdOut := Jupyter",
		},
		{"io.Copy(&jupyterStdOut, rOut)", "out.Forward(&jupyterStdOut, rOut)"},
		{"io.Copy(&jupyterStdErr, rErr)", "outErr.Forward(&jupyterStdErr, rErr)"},
		{
			"xreflect.ValueOf(receipt.PublishDisplayData)",
			"xreflect.ValueOf(session.InOrder(receipt.PublishDisplayData, out, outErr))",
		},
		{
			"\tvals, types, executionErr := doEval(ir, outerr, code)\n",
			"\tstop := session.WatchInterrupt(ir)\n\tvals, types, executionErr := doEval(ir, outerr, code)\n\tstop()\n",
		},
		{
			"\t\t\tvar ok bool\n\t\t\tif err, ok = r.(error); !ok {\n\t\t\t\terr = errors.New(fmt.Sprint(r))\n\t\t\t}\n",
			"\t\t\terr = session.Error(r)\n",
		},
		{
			"\tsrcAst := ast2.AnyToAst(nodes, \"doEval\")\n",
			"\tif err := session.CheckImports(nodes); err != nil {\n\t\tpanic(err)\n\t}\n\tsession.LoopVariables(nodes)\n\tsrcAst := ast2.AnyToAst(nodes, \"doEval\")\n",
		},
		{
			"_, srcEndsWithExpr = nodes[len(nodes)-1].(ast.Expr)",
			"srcEndsWithExpr = session.Shows(nodes[len(nodes)-1])",
		},
	},
	"messages.go": {
		{ // a display that is updated in place
			"\t\"github.com/go-zeromq/zmq4\"\n",
			"\t\"" + here + "session\"\n\t\"github.com/go-zeromq/zmq4\"\n",
		},
		{"receipt.Publish(\"display_data\", struct", "receipt.Publish(session.DisplayMessage(data.Transient), struct"},
	},
	"x_package.go": { // v0.7.5 declares a method JSON() string for an interface that wants a map
		{"\tJSON_  func(interface{}) string\n", "\tJSON_  func(interface{}) map[string]interface{}\n"},
		{"func (P *proxy_JSONer) JSON() string {", "func (P *proxy_JSONer) JSON() map[string]interface{} {"},
	},
}

func run(source, folder string) error {
	module, err := os.Getwd()
	if err != nil {
		return err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	replace := map[string]string{}
	for name, edits := range changes {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return err
		}
		changed, err := apply(string(text), edits)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		copied := filepath.Join(folder, name)
		if err := os.WriteFile(copied, []byte(changed), 0o666); err != nil {
			return err
		}
		replace[filepath.Join(module, "gophernotes", name)] = copied
	}
	overlay, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "overlay.json"), overlay, 0o666)
}

func apply(text string, edits []edit) (string, error) {
	for _, e := range edits {
		if n := strings.Count(text, e.old); n != 1 {
			return "", fmt.Errorf("%d places, want 1, with %q", n, e.old)
		}
		text = strings.Replace(text, e.old, e.new, 1)
	}
	return text, nil
}

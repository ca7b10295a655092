package session

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/cosmos72/gomacro/imports"
)

// CheckImports returns an error if a cell imports a package that is not linked
// into the kernel. Gomacro would try to compile it, which needs Go, the network
// and cgo, and fails on generic packages after many seconds.
func CheckImports(cell []ast.Node) error {
	for _, node := range cell {
		declaration, ok := node.(*ast.GenDecl)
		if !ok || declaration.Tok != token.IMPORT {
			continue
		}
		for _, spec := range declaration.Specs {
			path, err := strconv.Unquote(spec.(*ast.ImportSpec).Path.Value)
			if err != nil {
				return err
			}
			if _, ok := imports.Packages[path]; !ok {
				return fmt.Errorf("import %q: not linked into this kernel%s (notebooks/README.md tells how to add a package)", path, hint(path))
			}
		}
	}
	return nil
}

// hint names the linked packages that end like path.
func hint(path string) string {
	last := path[strings.LastIndexByte(path, '/')+1:]
	if slices.Contains([]string{"cmp", "iter", "maps", "slices"}, path) {
		return ", whose interpreter has no generics"
	}
	var near []string
	for linked := range imports.Packages {
		if linked == last || strings.HasSuffix(linked, "/"+last) {
			near = append(near, linked)
		}
	}
	if len(near) == 0 {
		return ""
	}
	slices.Sort(near)
	return ", but " + strings.Join(near, ", ") + " is"
}

// Shows reports whether a cell that ends in node shows node's value: node must be an
// expression, but not a call of fmt's printing functions, which return byte counts.
func Shows(node ast.Node) bool {
	expression, ok := node.(ast.Expr)
	if call, isCall := expression.(*ast.CallExpr); isCall {
		name := types.ExprString(call.Fun)
		return !strings.HasPrefix(name, "fmt.Print") && !strings.HasPrefix(name, "fmt.Fprint")
	}
	return ok
}

// DisplayMessage returns the type of the message that shows data with these
// transient fields. If the field update is true, the message replaces the earlier
// display with the same display_id. DisplayMessage removes the field update.
func DisplayMessage(transient map[string]any) string {
	update, _ := transient["update"].(bool)
	delete(transient, "update")
	if update {
		return "update_display_data"
	}
	return "display_data"
}

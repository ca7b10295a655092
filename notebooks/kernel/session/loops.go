package session

import (
	"go/ast"
	"go/token"
	"slices"
)

// LoopVariables gives the loops of a cell one variable for each iteration, as in Go
// 1.22, where this makes a difference. gomacro has one variable for the whole loop,
// so functions made in the body would all see its last value. LoopVariables inserts
// i := i at the beginning of the body. In a three-clause loop it does so only if a
// function mentions the variable and nothing in the body may assign to it: the next
// iteration would not see the assignment.
func LoopVariables(cell []ast.Node) {
	for _, node := range cell {
		ast.Inspect(node, func(n ast.Node) bool {
			switch loop := n.(type) {
			case *ast.ForStmt:
				if init, ok := loop.Init.(*ast.AssignStmt); ok && init.Tok == token.DEFINE {
					var names []string
					for _, name := range identifiers(init.Lhs...) {
						if captured(loop.Body, name) && !changed(loop.Body, name) {
							names = append(names, name)
						}
					}
					shadow(loop.Body, names)
				}
			case *ast.RangeStmt:
				if loop.Tok == token.DEFINE && outlives(loop.Body) {
					shadow(loop.Body, identifiers(loop.Key, loop.Value))
				}
			}
			return true
		})
	}
}

// identifiers returns the names among expressions, without blank identifiers.
func identifiers(expressions ...ast.Expr) []string {
	var names []string
	for _, e := range expressions {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
			names = append(names, id.Name)
		}
	}
	return names
}

// captured reports whether a function in body mentions name.
func captured(body *ast.BlockStmt, name string) bool {
	return contains(body, func(n ast.Node) bool {
		f, ok := n.(*ast.FuncLit)
		return ok && contains(f.Body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			return ok && id.Name == name
		})
	})
}

// changed reports whether something in body may assign to a variable of this name.
func changed(body *ast.BlockStmt, name string) bool {
	is := func(expressions ...ast.Expr) bool {
		return slices.ContainsFunc(expressions, func(e ast.Expr) bool {
			id, ok := ast.Unparen(e).(*ast.Ident)
			return ok && id.Name == name
		})
	}
	return contains(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			return is(n.Lhs...)
		case *ast.IncDecStmt:
			return is(n.X)
		case *ast.UnaryExpr:
			return n.Op == token.AND && is(n.X)
		case *ast.RangeStmt:
			return is(n.Key, n.Value)
		}
		return false
	})
}

// outlives reports whether body makes functions or takes addresses. Both may outlive
// an iteration.
func outlives(body *ast.BlockStmt) bool {
	return contains(body, func(n ast.Node) bool {
		if u, ok := n.(*ast.UnaryExpr); ok {
			return u.Op == token.AND
		}
		_, ok := n.(*ast.FuncLit)
		return ok
	})
}

func contains(in ast.Node, is func(ast.Node) bool) bool {
	found := false
	ast.Inspect(in, func(n ast.Node) bool {
		found = found || n != nil && is(n)
		return !found
	})
	return found
}

// shadow inserts a, b := a, b at the beginning of body.
func shadow(body *ast.BlockStmt, names []string) {
	if len(names) == 0 {
		return
	}
	s := &ast.AssignStmt{Tok: token.DEFINE, TokPos: body.Lbrace}
	for _, name := range names {
		s.Lhs = append(s.Lhs, &ast.Ident{NamePos: body.Lbrace, Name: name})
		s.Rhs = append(s.Rhs, &ast.Ident{NamePos: body.Lbrace, Name: name})
	}
	body.List = append([]ast.Stmt{s}, body.List...)
}

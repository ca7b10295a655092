package emulator

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// translate makes C++ of the text of a PTX module: a function for each of its
// entries and functions. Each statement becomes a call of the function in
// src/ptx.h that has the instruction's name, so the compiler finds instructions that
// are missing there. Registers become variables that hold bits, labels stay labels.
//
// It knows the PTX that clang makes of the project's kernels. Its error names any
// other text, with the line.
func translate(ptx string) (string, error) {
	p := &translator{tokens: tokenize(ptx), arrays: map[string]bool{}}
	p.out.WriteString("namespace {\n\n")
	for p.peek().text != "" {
		if err := p.declaration(); err != nil {
			return "", fmt.Errorf("emulator: PTX line %d: %w", p.last.line, err)
		}
	}
	p.out.WriteString("} // namespace\n")
	return p.out.String(), nil
}

type token struct {
	text string
	line int
}

var lexical = regexp.MustCompile(`//[^\n]*|\n|[%$_A-Za-z][\w$]*(?:\.\w+)*|\.[A-Za-z_]\w*|-?[0-9][\w.]*|"[^"\n]*"|[^\s]`)

func tokenize(text string) []token {
	var tokens []token
	line := 1
	for _, t := range lexical.FindAllString(text, -1) {
		switch {
		case t == "\n":
			line++
		case !strings.HasPrefix(t, "//"):
			tokens = append(tokens, token{t, line})
		}
	}
	return tokens
}

type translator struct {
	tokens []token
	last   token // that was read
	out    strings.Builder
	arrays map[string]bool // names that stand for an address
	result string          // type of the result, "" for an entry
}

func (p *translator) peek() token {
	if len(p.tokens) == 0 {
		return token{line: p.last.line}
	}
	return p.tokens[0]
}

func (p *translator) next() string {
	p.last = p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return p.last.text
}

func (p *translator) take(text string) bool {
	if p.peek().text != text {
		return false
	}
	p.next()
	return true
}

func (p *translator) want(text string) error {
	if got := p.next(); got != text {
		return fmt.Errorf("%q where %q is due", got, text)
	}
	return nil
}

func (p *translator) until(text string) ([]string, error) {
	var tokens []string
	for {
		switch t := p.next(); t {
		case text:
			return tokens, nil
		case "":
			return nil, fmt.Errorf("no %q until the end", text)
		default:
			tokens = append(tokens, t)
		}
	}
}

// name is the C++ name of a name in PTX.
func name(ptx string) string {
	return "x_" + strings.NewReplacer("%", "r_", "$", "l_", ".", "_").Replace(ptx)
}

// ctype is the C++ type of a register or parameter of a PTX type.
func ctype(ptx string) (string, error) {
	switch strings.TrimLeft(ptx, ".busf") {
	case "pred":
		return "bool", nil
	case "8":
		return "uint8_t", nil
	case "16":
		return "b16", nil
	case "32":
		return "b32", nil
	case "64":
		return "b64", nil
	}
	return "", fmt.Errorf("type %s", ptx)
}

// declaration reads one at the level of the module.
func (p *translator) declaration() error {
	switch t := p.next(); t {
	case ".version", ".target", ".address_size":
		_ = p.next() // one operand each
		return nil
	case ".visible", ".extern", ".weak", ";":
		return nil
	case ".shared", ".global", ".const", ".local":
		return p.array(t)
	case ".entry":
		p.result = ""
		return p.function("void", p.next())
	case ".func":
		kind := "void"
		p.result = ""
		if p.take("(") {
			params, err := p.parameters()
			if err != nil || len(params) != 1 {
				return fmt.Errorf("results %v: %w", params, err)
			}
			kind, p.result, _ = strings.Cut(params[0], " ")
		}
		return p.function(kind, p.next())
	default:
		return fmt.Errorf("%q is not understood here", t)
	}
}

// array reads the rest of a declaration after .shared and so on.
func (p *translator) array(space string) error {
	decl, err := p.until(";")
	if err != nil {
		return err
	}
	// .align 8 .b8 name [ 256 ] = { … }
	align, k := "1", 0
	if k+1 < len(decl) && decl[k] == ".align" {
		align, k = decl[k+1], 2
	}
	if len(decl) < k+5 || decl[k] != ".b8" || decl[k+2] != "[" || decl[k+4] != "]" {
		return fmt.Errorf("array %v", decl)
	}
	size := decl[k+3]
	values := decl[k+5:]
	if _, err := strconv.Atoi(size); err != nil {
		return fmt.Errorf("array %v", decl)
	}
	p.arrays[decl[k+1]] = true
	kind := map[string]string{".shared": `static __attribute__((section("gcn_shared"))) `,
		".local": "", ".global": "static ", ".const": "static "}[space]
	fmt.Fprintf(&p.out, "alignas(%s) %sunsigned char %s[%s]%s;\n", align,
		kind, name(decl[k+1]), size, strings.Join(values, " "))
	return nil
}

// parameters reads a list up to its closing parenthesis.
func (p *translator) parameters() (params []string, err error) {
	tokens, err := p.until(")")
	if err != nil {
		return nil, err
	}
	for param := range strings.SplitSeq(strings.Join(tokens, " "), ",") {
		words := strings.Fields(param) // .param .u64 name
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 || words[0] != ".param" {
			return nil, fmt.Errorf("parameter %q", param)
		}
		kind, err := ctype(words[1])
		if err != nil {
			return nil, err
		}
		switch words[1] { // as the kernel's source has them
		case ".f32":
			kind = "float"
		case ".f64":
			kind = "double"
		}
		params = append(params, kind+" "+name(words[2]))
	}
	return params, nil
}

// function reads the rest of an entry or function after its name.
func (p *translator) function(kind, title string) error {
	if err := p.want("("); err != nil {
		return err
	}
	params, err := p.parameters()
	if err != nil {
		return err
	}
	fmt.Fprintf(&p.out, "%s %s(%s)", kind, name(title), strings.Join(params, ", "))
	for p.peek().text != "{" {
		switch t := p.next(); t {
		case ";": // only declared
			p.out.WriteString(";\n")
			return nil
		case ".noreturn":
		case ".maxntid", ".reqntid", ".minnctapersm", ".maxnreg":
			for p.next(); p.take(","); p.next() {
			}
		default:
			return fmt.Errorf("%q after the parameters of %s", t, title)
		}
	}
	p.next()
	p.out.WriteString(" {\nb32 cc = 0;\n")
	if p.result != "" {
		fmt.Fprintf(&p.out, "%s %s;\n", kind, p.result)
	}
	for depth := 1; depth > 0; {
		switch {
		case p.take("{"):
			depth++
			p.out.WriteString("{\n")
		case p.take("}"):
			depth--
			p.out.WriteString("}\n")
		default:
			if err := p.statement(); err != nil {
				return err
			}
		}
	}
	p.out.WriteString("\n")
	return nil
}

func (p *translator) statement() error {
	t := p.next()
	switch t {
	case "":
		return fmt.Errorf("the text ends within a function")
	case ".pragma":
		_, err := p.until(";")
		return err
	case ".shared", ".local":
		return p.array(t)
	case ".reg", ".param":
		return p.registers()
	}
	if p.take(":") {
		fmt.Fprintf(&p.out, "%s:;\n", name(t))
		return nil
	}
	if t == "@" {
		not := ""
		if p.take("!") {
			not = "!"
		}
		fmt.Fprintf(&p.out, "if (%s%s) ", not, name(p.next()))
		t = p.next()
	}
	if strings.HasPrefix(t, ".") {
		return fmt.Errorf("%q is not understood in a function", t)
	}
	tokens, err := p.until(";")
	if err != nil {
		return err
	}
	said, err := p.instruction(t, operands(tokens))
	if err != nil {
		return fmt.Errorf("%s %s: %w", t, strings.Join(tokens, " "), err)
	}
	p.out.WriteString(said + ";\n")
	return nil
}

// registers reads ".b32 %r<12>" or ".u32 a, b": variables without a value, so that
// a label may be jumped to across them.
func (p *translator) registers() error {
	tokens, err := p.until(";")
	if err != nil || len(tokens) < 2 {
		return fmt.Errorf("registers %v: %w", tokens, err)
	}
	kind, err := ctype(tokens[0])
	if err != nil {
		return err
	}
	for list := range strings.SplitSeq(strings.Join(tokens[1:], ""), ",") {
		prefix, count, many := strings.Cut(strings.TrimSuffix(list, ">"), "<")
		if !many {
			fmt.Fprintf(&p.out, "%s %s;\n", kind, name(prefix))
			continue
		}
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || n > 1<<16 {
			return fmt.Errorf("registers %s", list)
		}
		for k := range n {
			fmt.Fprintf(&p.out, "%s %s;\n", kind, name(prefix+strconv.Itoa(k)))
		}
	}
	return nil
}

// operands splits at commas outside of brackets, which stay.
func operands(tokens []string) []string {
	var all []string
	depth, at := 0, ""
	for _, t := range tokens {
		switch t {
		case "[", "{", "(":
			depth++
		case "]", "}", ")":
			depth--
		case ",":
			if depth == 0 {
				all, at = append(all, at), ""
				continue
			}
		}
		at += t
	}
	if at != "" {
		all = append(all, at)
	}
	return all
}

var special = regexp.MustCompile(`^%(tid|ctaid|ntid|nctaid)\.([xyz])$`)

func (p *translator) value(operand string) string {
	if m := special.FindStringSubmatch(operand); m != nil {
		return map[string]string{"tid": "gcn_thread", "ctaid": "gcn_block",
			"ntid": "gcn_block_size", "nctaid": "gcn_grid_size"}[m[1]] + "." + m[2]
	}
	switch {
	case p.arrays[operand]:
		return "(b64)" + name(operand)
	case strings.HasPrefix(operand, "0f"):
		return "0x" + operand[2:] + "u"
	case strings.HasPrefix(operand, "0d"):
		return "0x" + operand[2:] + "ull"
	case strings.HasPrefix(operand, "-") || operand[0] >= '0' && operand[0] <= '9':
		return operand + "ll"
	}
	return name(operand)
}

// address is the text between brackets: a base and an offset.
func (p *translator) address(operand string) (base, offset string, err error) {
	inner, ok := strings.CutPrefix(operand, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !ok || !closed {
		return "", "", fmt.Errorf("address %s", operand)
	}
	base, offset, _ = strings.Cut(inner, "+")
	if base == "" {
		return "", "", fmt.Errorf("address %s", operand)
	}
	if offset == "" {
		offset = "0"
	}
	return base, offset, nil
}

func (p *translator) instruction(op string, args []string) (string, error) {
	most := map[string]int{"ret": 0, "bra": 1, "call": 3}
	for _, a := range args {
		if a == "" {
			return "", fmt.Errorf("an operand is missing")
		}
	}
	base, rest, _ := strings.Cut(op, ".")
	kind := op[strings.LastIndexByte(op, '.')+1:]
	if n, ok := most[base]; ok && len(args) != n || !ok && (len(args) == 0 || len(args) < 2 && base != "bar") {
		return "", fmt.Errorf("%d operands", len(args))
	}
	function := strings.ReplaceAll(op, ".", "_")
	switch base {
	case "ret":
		return strings.TrimSpace("return " + p.result), nil
	case "bra":
		return "goto " + name(args[0]), nil
	case "call": // (result), function, (arguments)
		var given []string
		for a := range strings.SplitSeq(strings.Trim(args[2], "()"), ",") {
			given = append(given, name(a))
		}
		return fmt.Sprintf("%s = %s(%s)", name(strings.Trim(args[0], "()")),
			name(args[1]), strings.Join(given, ", ")), nil
	case "ld", "st":
		to := args[0]
		from := args[1]
		memory := from
		if base == "st" {
			memory = to
		}
		at, offset, err := p.address(memory)
		switch {
		case err != nil:
			return "", err
		case rest == "param."+kind && base == "ld":
			return fmt.Sprintf("%s = ld_param<t_%s>(%s, %s)",
				name(to), kind, name(at), offset), nil
		case rest == "param."+kind:
			return fmt.Sprintf("st_param<t_%s>(%s, %s, %s)",
				kind, name(at), offset, p.value(from)), nil
		case base == "ld":
			return fmt.Sprintf("%s = %s(%s + (%s))", name(to), function, p.value(at), offset), nil
		}
		return fmt.Sprintf("%s(%s + (%s), %s)", function, p.value(at), offset, p.value(from)), nil
	case "mov":
		if to, ok := strings.CutPrefix(args[0], "{"); ok { // its halves
			low, high, _ := strings.Cut(strings.TrimSuffix(to, "}"), ",")
			return fmt.Sprintf("%s = (b32)%s, %s = (b32)(%s >> 32)", name(low),
				p.value(args[1]), name(high), p.value(args[1])), nil
		}
		if from, ok := strings.CutPrefix(args[1], "{"); ok {
			low, high, _ := strings.Cut(strings.TrimSuffix(from, "}"), ",")
			if low == "" || high == "" {
				return "", fmt.Errorf("an operand is missing")
			}
			return fmt.Sprintf("%s = (b64)%s << 32 | %s", name(args[0]),
				p.value(high), p.value(low)), nil
		}
		return fmt.Sprintf("%s = %s", name(args[0]), p.value(args[1])), nil
	case "selp":
		if len(args) != 4 {
			return "", fmt.Errorf("%d operands", len(args))
		}
		return fmt.Sprintf("%s = %s ? %s : %s", name(args[0]),
			p.value(args[3]), p.value(args[1]), p.value(args[2])), nil
	}
	var given []string
	for _, a := range args {
		given = append(given, p.value(a))
	}
	if strings.Contains(op, ".cc.") || base == "addc" || base == "subc" || base == "madc" {
		given = append(given, "cc")
	}
	if base == "bar" { // no result
		return fmt.Sprintf("%s(%s)", function, strings.Join(given, ", ")), nil
	}
	return fmt.Sprintf("%s = %s(%s)", name(args[0]), function, strings.Join(given[1:], ", ")), nil
}

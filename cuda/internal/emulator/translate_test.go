package emulator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/cuda/internal/kernels"
)

// GCN_EMULATOR=ptx runs the translation, and so tests it.

func TestTranslate(t *testing.T) {
	const ptx = `// a comment
.version 7.0
.target sm_80
.address_size 64
.shared .align 8 .b8 sums[256];
.func (.param .b64 result) twice(.param .b64 x);
.visible .entry k(
	.param .u64 k_param_0,
	.param .f32 k_param_1
)
.maxntid 256, 1, 1
{
	.reg .pred %p<2>;
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>, %SP;
	ld.param.u64 %rd0, [k_param_0];
	mov.u32 %r1, %tid.x;
	setp.lt.s32 %p1, %r1, -3;
	@!%p1 bra $L__BB0_2;
	{
	.reg .b32 %temp;
	mov.b64 {%r2, %temp}, %rd0;
	}
	mov.b64 %rd1, {%r1, %r2};
	st.global.u32 [%rd0+4], %r1;
	mov.u64 %rd1, sums;
	add.cc.u32 %r1, %r1, 0f3F800000;
	selp.b32 %r1, 1, %r2, %p1;
	call.uni (retval0), twice, (%rd1);
	bar.sync 0;
$L__BB0_2:
	ret;
}
`
	got, err := translate(ptx)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`alignas(8) static __attribute__((section("gcn_shared"))) unsigned char x_sums[256];`,
		"b64 x_twice(b64 x_x);",
		"void x_k(b64 x_k_param_0, float x_k_param_1) {\nb32 cc = 0;\nbool x_r_p0;\nbool x_r_p1;\n",
		"b64 x_r_rd1;\nb64 x_r_SP;\n",
		"x_r_rd0 = ld_param<t_u64>(x_k_param_0, 0);",
		"x_r_r1 = gcn_thread.x;",
		"x_r_p1 = setp_lt_s32(x_r_r1, -3ll);",
		"if (!x_r_p1) goto x_l_L__BB0_2;",
		"{\nb32 x_r_temp;\nx_r_r2 = (b32)x_r_rd0, x_r_temp = (b32)(x_r_rd0 >> 32);\n}",
		"x_r_rd1 = (b64)x_r_r2 << 32 | x_r_r1;",
		"st_global_u32(x_r_rd0 + (4), x_r_r1);",
		"x_r_rd1 = (b64)x_sums;",
		"x_r_r1 = add_cc_u32(x_r_r1, 0x3F800000u, cc);",
		"x_r_r1 = x_r_p1 ? 1ll : x_r_r2;",
		"x_retval0 = x_twice(x_r_rd1);",
		"bar_sync(0ll);\nx_l_L__BB0_2:;\nreturn;\n}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestTranslateErrors(t *testing.T) {
	for ptx, want := range map[string]string{
		".version 7.0\nadd.s32 %r1, %r2;":                  `line 2: "add.s32" is not understood here`,
		".visible .entry k()\n{\n.magic 3;\n}":             `line 3: ".magic" is not understood in a function`,
		".visible .entry k()\n{\nadd.s32 %r1;\n}":          "line 3: add.s32 %r1: 1 operands",
		".visible .entry k()\n{\nld.global.u32 %r1, %r2;}": "line 3: ld.global.u32 %r1 , %r2: address %r2",
		".visible .entry k()\n{\nret;":                     "the text ends within a function",
		".visible .entry k()\n{\nret":                      `no ";" until the end`,
		".visible .entry k(.param .u64)\n{":                `line 1: parameter ".param .u64"`,
		".visible .entry k(.param .b128 x)":                "line 1: type .b128",
		".visible .entry k() .cluster":                     `".cluster" after the parameters of k`,
		".shared .align 4 .f32 x[4];":                      "line 1: array [.align 4 .f32 x [ 4 ]]",
		".visible .entry k()\n{ .reg .b32 %r<x>;":          "registers %r<x>",
	} {
		if _, err := translate(ptx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", ptx, err, want)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	dir, err := kernels.Root(".")
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range kernels.Modules()[:2] {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(m.PTX)))
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), ".visible")[1:] {
			f.Add(".visible" + part)
		}
	}
	f.Add(".func (.param .b64 r) g(.param .b64 x) { call.uni (r), g, (x); mov.b64 {a, b}, c; }")
	f.Fuzz(func(t *testing.T, ptx string) {
		if text, err := translate(ptx); err == nil && !strings.HasSuffix(text, "} // namespace\n") {
			t.Errorf("%q", text)
		}
	})
}

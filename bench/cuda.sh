#!/usr/bin/env bash
# Builds, checks and measures the CUDA build on a GPU.
#
#   bench/cuda.sh build DIR      where Go and a C compiler are: programs and test binaries into DIR,
#                                and all of them packed in DIR.tar.xz, to be unpacked elsewhere
#   bench/cuda.sh all DIR        where the GPU is, in the same checkout: all of the steps below
#   bench/cuda.sh STEP DIR       one of them, each under ten minutes:
#
#     check      the whole test suite of the CUDA build, on the GPU
#     bench      synth:arxiv, samples 512,1024: our step beside PyTorch's on the same blocks; inference
#     long       10,000 steps twice: memory, hangs, equal bits; 100 steps against the CPU
#     sanitize   compute-sanitizer memcheck and racecheck over kernels, ops and training
#     products   synth:products trains; the GPU memory that it takes
#
# A step prints what it found and appends it to DIR/results.md, for bench/cuda.md.
# It needs no Go there. PYTHON names the interpreter that has torch.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
[ $# = 2 ] || { sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 2; }
step=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
python=${PYTHON:-python3}
packages='internal/device ops layers train cmd/gcn'

build() {
	go build -modfile go.cuda.mod -tags cuda -trimpath -ldflags '-s -w' -o "$dir/gcn" ./cmd/gcn
	go build -trimpath -ldflags '-s -w' -o "$dir/blocks" ./bench/peers/blocks
	for package in $packages; do
		go test -modfile go.cuda.mod -tags cuda -trimpath -ldflags '-s -w' -c -o "$dir/$(basename "$package").test" "./$package"
	done
	(cd cuda/cu && go test -trimpath -ldflags '-s -w' -c -o "$dir/cu.test" .) || rm -f "$dir/cu.test"
	git rev-parse --short HEAD >"$dir/commit" 2>/dev/null || echo unknown >"$dir/commit"
	tar -C "$(dirname "$dir")" -cf - "$(basename "$dir")" | xz -T0 >"$dir.tar.xz"
	ls -l "$dir" "$dir.tar.xz"
}

note() { printf '%s\n' "$@" | tee -a "$dir/results.md"; }
trap 'echo "bench/cuda.sh: line $LINENO failed" >&2; tail -n 5 "$dir/errors.log" >&2 2>/dev/null || true' ERR

heading() {
	note "" "## $1, $(date -u +%Y-%m-%dT%H:%MZ), commit $(cat "$dir/commit"), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)" ""
	note "$("$dir/gcn" version 2>/dev/null | grep CUDA)"
}

# tests PACKAGE [ARGUMENT...]: its test binary, in its folder.
tests() {
	local package=$1
	shift
	(cd "$root/$package" && "$dir/$(basename "$package").test" "$@")
}

check() {
	heading 'Tests on the GPU'
	[ ! -x "$dir/cu.test" ] || (cd cuda/cu && "$dir/cu.test") 2>&1 | tail -n 5
	for package in $packages; do
		local only=.
		[ "$package" != cmd/gcn ] || only=Device # others build programs, or take no device
		if tests "$package" -test.timeout 5m -test.run "$only" >"$dir/$(basename "$package").log" 2>&1; then
			note "- $package: passed"
		else
			note "- $package: FAILED, $(grep -c -- '--- FAIL' "$dir/$(basename "$package").log" || true) tests"
			grep -A 8 -- '--- FAIL' "$dir/$(basename "$package").log" | head -n 40
		fi
	done
	tests ops -test.run TestCountsOfAStep -test.v 2>&1 | grep -E 'Launches|FAIL' || true
}

# field NAME FILE: a field of a JSON object.
field() { "$python" -c 'import json,sys; print(json.load(open(sys.argv[2]))[sys.argv[1]])' "$1" "$2"; }

bench() {
	heading 'Training step, synth:arxiv, samples 512,1024, hidden 256, 2 layers'
	[ -d "$dir/arxiv" ] || "$dir/gcn" datasets convert synth:arxiv "$dir/arxiv/" >/dev/null
	"$dir/blocks" -data "npy:$dir/arxiv" -samples 512,1024 -batches 60 -out "$dir/blocks.bin"
	for k in 1 2 3; do
		"$dir/gcn" bench train --data "npy:$dir/arxiv" --samples 512,1024 --device cuda --batches 300 --json 2>>"$dir/errors.log" | tail -n 1 >"$dir/step-$k.json"
		"$python" bench/peers/cuda.py "$dir/arxiv" "$dir/blocks.bin" 2>>"$dir/errors.log" | tail -n 1 >"$dir/peer-$k.json"
	done
	"$python" - "$dir" <<'END' | tee -a "$dir/results.md"
import json, sys
print("| run | ours, waiting | ours, pipelined with sampling | PyTorch, waiting | PyTorch, queued | PyTorch, copying | form | ratio, waiting |")
print("|--:|--:|--:|--:|--:|--:|---|--:|")
for k in (1, 2, 3):
    o, p = (json.load(open(f"{sys.argv[1]}/{name}-{k}.json")) for name in ("step", "peer"))
    print(f"| {k} | {o['ms_median']:.3f} | {o['pipelined_ms_per_batch']:.3f} | {p['waiting']:.3f} | {p['queued']:.3f} | {p['copying']:.3f} | {p['form']} | {p['waiting'] / o['ms_median']:.2f} |")
print(f"\nPer step: {o['launches_per_step']:.1f} kernels, {o['products_per_step']:.1f} products, {o['copies_per_step']:.2f} copies, {o['bytes_to_device_per_step']:.0f} bytes to the device, {o['syncs_per_step']:.3f} waits; "
      f"dense products alone {o['floor_ms']:.3f} ms; {o['device_bytes'] / 1e6:.0f} MB. The bar: 0.7 ms waiting, ratio 2. torch {p['torch']}.")
END
	for where in cpu cuda; do
		"$dir/gcn" bench infer --data "npy:$dir/arxiv" --device $where --json 2>>"$dir/errors.log" | tail -n 1 >"$dir/infer-$where.json"
		note "- inference over all nodes, $where: $(field ms "$dir/infer-$where.json") ms"
	done
}

long() {
	heading '10,000 steps, twice'
	local log="$dir/long.log"
	nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -l 5 >"$dir/memory.txt" &
	local watch=$!
	if (cd train && GCN_CUDA_STEPS=10000 "$dir/train.test" -test.timeout 8m -test.v -test.run 'TestLongRunOnDevice|TestDeviceAgreesWithCPU') >"$log" 2>&1; then note 'passed'; else note 'FAILED'; fi
	kill $watch
	note "$(grep -E 'steps:|differ by|FAIL' "$log" | sed 's/^ */- /')"
	note "- GPU memory in use, MiB, every 5 s: $(tr '\n' ' ' <"$dir/memory.txt")"
}

sanitize() {
	heading 'compute-sanitizer'
	command -v compute-sanitizer >/dev/null || { note 'not there'; return; }
	for tool in memcheck racecheck; do
		for what in 'internal/device .' 'ops Placed|Gradients/(Propagate|Activate|Affine)|LossGradients/2' 'layers TestInferOnErrors' 'train TestProgramOnDevice'; do
			set -- $what
			local log="$dir/$tool-$(basename "$1").log"
			(cd "$1" && timeout 120 compute-sanitizer --tool $tool --error-exitcode 9 "$dir/$(basename "$1").test" -test.run "$2") >"$log" 2>&1 && verdict=clean || verdict="exit $?"
			note "- $tool, $1 ($2): $verdict, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -n 1)"
		done
	done
}

# peak COMMAND...: runs it and prints the most GPU memory in use meanwhile, MiB.
peak() {
	nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -lms 200 >"$dir/peak.txt" &
	local watch=$!
	"$@"
	kill $watch
	note "- GPU memory in use at most: $(sort -n "$dir/peak.txt" | tail -n 1) MiB, $(sort -n "$dir/peak.txt" | head -n 1) before; the bar: 8192"
}

products() {
	heading 'synth:products'
	peak "$dir/gcn" train --data synth:products --samples 512,1024 --device cuda --max-batches 200 --eval-every 100 --patience 0 --out "$dir/products-run" --overwrite --json -q >"$dir/products.json" 2>"$dir/products.err" || note "FAILED: $(tail -n 1 "$dir/products.err")"
	note "- 200 batches, two validations and the test: $(tail -n 1 "$dir/products.json")"
}

case $step in
build | check | bench | long | sanitize | products) "$step" ;;
all) for s in check bench long sanitize products; do "$s"; done ;;
*) echo "no step $step" >&2; exit 2 ;;
esac

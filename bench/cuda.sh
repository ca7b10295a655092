#!/usr/bin/env bash
# Builds, checks and measures the CUDA build on a GPU.
#
#   bench/cuda.sh build DIR      where Go and a C compiler are: programs and test binaries into DIR,
#                                and all of them packed in DIR.tar.xz, to be unpacked elsewhere
#   bench/cuda.sh all DIR        where the GPU is, in the same checkout: all of the steps below
#   bench/cuda.sh STEP DIR       one of them, each under ten minutes:
#
#     first      a minute: driver, libraries, 40 batches on the GPU beside the CPU
#     check      the whole test suite of the CUDA build, on the GPU
#     bench      synth:arxiv, samples 512,1024: our step beside PyTorch's on the same blocks; inference
#     long       10,000 steps twice: memory, hangs, equal bits; 100 steps against the CPU
#     memcheck   compute-sanitizer over kernels, ops and training; racecheck the same
#     products   synth:products trains; the GPU memory that it takes
#
# A step prints what it found and appends it to DIR/results.md, for bench/cuda.md; what fails shows the end
# of its log, and the logs stay in DIR, packed in DIR/logs.tar.gz. A step that fails does not keep the next from running.
# It needs no Go there. PYTHON names the interpreter that has torch, SANITIZER a compute-sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
[ $# = 2 ] || { sed -n '2,21s/^# \{0,1\}//p' "$0"; exit 2; }
step=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
python=${PYTHON:-python3}
packages='internal/device internal/elementwise ops layers train cmd/gcn'
limit=560 # seconds of a step
export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-$dir/compiled} # kernels are compiled once
[ "$step" = build ] || mkdir -p "$CUDA_CACHE_PATH"

build() {
	go build -modfile go.cuda.mod -tags cuda -trimpath -ldflags '-s -w' -o "$dir/gcn" ./cmd/gcn
	go build -trimpath -ldflags '-s -w' -o "$dir/blocks" ./bench/peers/blocks
	for package in $packages; do
		go test -modfile go.cuda.mod -tags cuda -trimpath -ldflags '-s -w' -c -o "$dir/$(basename "$package").test" "./$package"
	done
	for package in cu cu/blas; do
		(cd "cuda/$package" && go test -trimpath -ldflags '-s -w' -c -o "$dir/$(basename "$package").test" .)
	done
	git rev-parse --short HEAD >"$dir/commit" 2>/dev/null || echo unknown >"$dir/commit"
	tar -C "$(dirname "$dir")" -cf - "$(basename "$dir")" | xz -T0 >"$dir.tar.xz"
	ls -l "$dir" "$dir.tar.xz"
}

note() { printf '%s\n' "$@" | tee -a "$dir/results.md"; }

# why LOG: the failed tests in it, or how it ends.
why() {
	grep -q -- '--- FAIL' "$1" && grep -A 8 -- '--- FAIL' "$1" | head -n 60
	echo "the end of $(basename "$1"):"
	tail -n 15 "$1"
}

# within SECONDS COMMAND...: runs it no longer than that, and no longer than the step may take.
within() {
	local most=$((limit - SECONDS))
	[ "$1" -lt "$most" ] && most=$1
	[ "$most" -gt 5 ] || { echo 'no time is left in this step' >&2; return 124; }
	shift
	timeout --kill-after 5 "$most" "$@"
}

watching= # what writes down the GPU's memory
trap 'echo "bench/cuda.sh: line $LINENO failed in step $step" >&2; tail -n 20 "$dir/errors.log" >&2 2>/dev/null || true' ERR
finish() {
	[ -z "$watching" ] || kill "$watching" 2>/dev/null || true
	[ "$step" = build ] || (cd "$dir" && find . -maxdepth 1 '(' -name '*.log' -o -name '*.json' -o -name '*.txt' ')' | tar -czf logs.tar.gz -T - results.md) || true
}
trap finish EXIT

# watch FILE OPTION...: the GPU's memory in use goes to FILE until unwatch.
watch() {
	local file=$1
	shift
	nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits "$@" >"$file" &
	watching=$!
}
unwatch() {
	kill "$watching" 2>/dev/null || true
	watching=
}

heading() {
	: >"$dir/errors.log"
	local cuda
	cuda=$("$dir/gcn" version 2>>"$dir/errors.log" | sed -n 's/^CUDA *//p')
	note "" "## $1, $(date -u +%Y-%m-%dT%H:%MZ), commit $(cat "$dir/commit"), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true)" "" "$cuda"
	case $cuda in
	'built in'*) echo 'no GPU can be used' >&2; exit 1 ;;
	*'no cuBLAS'*) # where the interpreter keeps its wheels
		GCN_CUBLAS=$("$python" -c 'import glob, site, sysconfig
folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
found = [f for d in folders for w in ("nvidia/*/lib", "torch/lib") for f in glob.glob(f"{d}/{w}/libcublas.so.[0-9]*")]
print(max(found, default=""))')
		[ -n "$GCN_CUBLAS" ] && export GCN_CUBLAS && note "with GCN_CUBLAS=$GCN_CUBLAS" ;;
	esac
}

# tests PACKAGE SECONDS [ARGUMENT...]: its test binary, in its folder.
tests() {
	local package=$1 most=$2
	shift 2
	(cd "$root/$package" && within "$most" "$dir/$(basename "$package").test" "$@")
}

first() {
	heading 'First contact'
	nvidia-smi | sed -n 3,4p || true
	echo "$(nproc) processors; $("$python" -c 'import sys, torch; print("python", sys.version.split()[0], "torch", torch.__version__)' 2>&1 | tail -n 1)"
	for how in '--device cuda' '--device cuda --method vrgcn' '--device cpu'; do
		# shellcheck disable=SC2086
		if within 120 "$dir/gcn" train $how --max-batches 40 --out "$dir/first" --overwrite --json -q >"$dir/first.log" 2>&1; then
			note "- 40 batches of synth:demo, $how: $(tail -n 1 "$dir/first.log" | cut -c 1-600)"
		else
			note "- 40 batches of synth:demo, $how: FAILED"
			why "$dir/first.log"
		fi
	done
}

check() {
	heading 'Tests on the GPU'
	for package in cuda/cu cuda/cu/blas $packages; do
		local only=. log
		[ "$package" != cmd/gcn ] || only=Device # others build programs, or take no device
		log=$dir/$(basename "$package").log
		if tests "$package" 240 -test.timeout 4m -test.run "$only" >"$log" 2>&1; then
			note "- $package: passed"
		else
			note "- $package: FAILED, $(grep -c -- '--- FAIL' "$log" || true) tests"
			why "$log"
		fi
	done
	tests ops 60 -test.run TestCountsOfAStep -test.v 2>&1 | grep -E 'Launches|FAIL' || true
}

# field NAME FILE: a field of a JSON object.
field() { "$python" -c 'import json,sys; print(json.load(open(sys.argv[2]))[sys.argv[1]])' "$1" "$2"; }

bench() {
	heading 'Training step, synth:arxiv, samples 512,1024, hidden 256, 2 layers'
	[ -d "$dir/arxiv" ] || "$dir/gcn" datasets convert synth:arxiv "$dir/arxiv/" >/dev/null
	"$dir/blocks" -data "npy:$dir/arxiv" -samples 512,1024 -batches 60 -out "$dir/blocks.bin"
	for k in 1 2 3; do
		within 120 "$dir/gcn" bench train --data "npy:$dir/arxiv" --samples 512,1024 --device cuda --batches 300 --json 2>>"$dir/errors.log" | tail -n 1 >"$dir/step-$k.json"
		within 120 "$python" bench/peers/cuda.py "$dir/arxiv" "$dir/blocks.bin" >"$dir/peer-$k.log" 2>>"$dir/errors.log" || { note "- PyTorch's step, run $k: FAILED"; tail -n 20 "$dir/errors.log"; }
		tail -n 1 "$dir/peer-$k.log" >"$dir/peer-$k.json"
	done
	"$python" - "$dir" <<'END' | tee -a "$dir/results.md"
import json, sys
print("| run | ours, waiting | ours, pipelined with sampling | PyTorch, waiting | PyTorch, queued | PyTorch, copying | form | ratio, waiting |")
print("|--:|--:|--:|--:|--:|--:|---|--:|")
for k in (1, 2, 3):
    o = json.load(open(f"{sys.argv[1]}/step-{k}.json"))
    try:
        p = json.load(open(f"{sys.argv[1]}/peer-{k}.json"))
        p["waiting"]
    except (ValueError, KeyError):  # it failed
        p = dict.fromkeys(("waiting", "queued", "copying"), float("nan")) | {"form": "", "torch": ""}
    print(f"| {k} | {o['ms_median']:.3f} | {o['pipelined_ms_per_batch']:.3f} | {p['waiting']:.3f} | {p['queued']:.3f} | {p['copying']:.3f} | {p['form']} | {p['waiting'] / o['ms_median']:.2f} |")
print(f"\nPer step: {o['launches_per_step']:.1f} kernels, {o['products_per_step']:.1f} products, {o['copies_per_step']:.2f} copies, {o['bytes_to_device_per_step']:.0f} bytes to the device, {o['syncs_per_step']:.3f} waits; "
      f"dense products alone {o['floor_ms']:.3f} ms; {o['device_bytes'] / 1e6:.0f} MB. The bar: 0.7 ms waiting, ratio 2. torch {p['torch']}.")
END
	for where in cpu cuda; do
		within 120 "$dir/gcn" bench infer --data "npy:$dir/arxiv" --device $where --json 2>>"$dir/errors.log" | tail -n 1 >"$dir/infer-$where.json"
		note "- inference over all nodes, $where: $(field ms "$dir/infer-$where.json") ms"
	done
}

long() {
	heading '10,000 steps, twice'
	local log="$dir/long.log"
	watch "$dir/memory.txt" -l 5
	if GCN_CUDA_STEPS=10000 tests train 540 -test.timeout 9m -test.v -test.run 'TestLongRunOnDevice|TestDeviceAgreesWithCPU' >"$log" 2>&1; then
		note 'passed'
	else
		note 'FAILED'
		why "$log"
	fi
	unwatch
	note "$(grep -E 'steps:|differ by|FAIL' "$log" | sed 's/^ */- /')"
	note "- GPU memory in use, MiB, every 5 s: $(tr '\n' ' ' <"$dir/memory.txt")"
}

# sanitize TOOL
sanitize() {
	heading "compute-sanitizer, $1"
	local sanitizer=${SANITIZER:-}
	for sanitizer in "$sanitizer" "$(command -v compute-sanitizer || true)" /usr/local/cuda*/bin/compute-sanitizer; do
		[ ! -x "$sanitizer" ] || break
	done
	[ -x "$sanitizer" ] || { note 'not there'; return; }
	for what in 'internal/device .' 'ops Placed|History.*Device|Gradients/(Propagate|Activate|Affine)|LossGradients/2' 'layers TestInferOnErrors' 'train TestProgramOnDevice|TestFitKeepsStateOnDevice'; do
		local package=${what%% *} tests=${what#* } log verdict
		log="$dir/$1-$(basename "$package").log"
		(cd "$package" && within 130 "$sanitizer" --tool "$1" --error-exitcode 9 "$dir/$(basename "$package").test" -test.run "$tests") >"$log" 2>&1 && verdict=clean || verdict="exit $?"
		note "- $1, $package ($tests): $verdict, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -n 1)"
		[ "$verdict" = clean ] || { grep -m 30 '^=========' "$log" || true; tail -n 5 "$log"; }
	done
}

memcheck() { sanitize memcheck; }
racecheck() { sanitize racecheck; }

products() {
	heading 'synth:products'
	watch "$dir/peak.txt" -lms 200
	if within 540 "$dir/gcn" train --data synth:products --samples 512,1024 --device cuda --max-batches 200 --eval-every 100 --patience 0 --out "$dir/products-run" --overwrite --json -q >"$dir/products.json" 2>"$dir/products.log"; then
		note "- 200 batches, two validations and the test: $(tail -n 1 "$dir/products.json")"
	else
		note 'FAILED'
		why "$dir/products.log"
	fi
	unwatch
	note "- GPU memory in use at most: $(sort -n "$dir/peak.txt" | tail -n 1) MiB, $(sort -n "$dir/peak.txt" | head -n 1) before; the bar: 8192"
}

case $step in
build | first | check | bench | long | memcheck | racecheck | products) "$step" ;;
all) for s in first check bench long memcheck racecheck products; do "$0" "$s" "$dir" || note "step $s ended with an error"; done ;;
*) echo "no step $step" >&2; exit 2 ;;
esac

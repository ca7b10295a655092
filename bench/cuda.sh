#!/usr/bin/env bash
# Builds, checks and measures the CUDA build on a GPU.
#
#   bench/cuda.sh build DIR          where Go and a C compiler are: programs and test binaries into DIR,
#                                    and all of them packed in DIR.tar.xz
#   bench/cuda.sh STEP[,STEP…] DIR   where the GPU is, in the same checkout, no Go needed: one step or
#                                    several; if DIR does not exist, DIR.tar.xz is unpacked
#   bench/cuda.sh all DIR            all of them in this order, with the minutes expected on 16 cores:
#
#     first      1   driver, libraries, 40 batches on the GPU beside the CPU
#     check      3   the whole test suite of the CUDA build, on the GPU
#     bench      4   a step at samples 512,1024 beside PyTorch's on the same blocks; inference
#     long       2   10,000 steps twice: memory, hangs, equal bits; 100 steps against the CPU
#     products   1   synth:products trains; the GPU memory that it takes
#     memcheck   9   at most: compute-sanitizer over kernels, ops, inference and training
#     racecheck  9   at most: the same
#
# A step prints its results and appends them to DIR/results.md, for bench/cuda.md. After a failure it prints
# the end of the log. All logs stay in DIR, packed in DIR/logs.tar.gz. The next step runs even if one fails.
# Variables and their defaults:
#
#     PYTHON=python3, with torch        SANITIZER=compute-sanitizer
#     LIMIT=560, the most seconds of a step, or of several steps separated by commas
#     DATA=synth:arxiv and BATCHES=150 of bench, STEPS=10000 of long, PRODUCTS=synth:products
set -Eeuo pipefail
[ $# = 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2; }
step=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
root=$PWD
python=${PYTHON:-python3}
data=${DATA:-synth:arxiv}
packages='internal/device internal/plan ops layers train cmd/gcn'
limit=${LIMIT:-560}
export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-$dir/compiled} # kernels are compiled once

build() {
	go build -modfile go.cuda.mod -tags cuda -trimpath -ldflags '-s -w' -o "$dir/gcn" ./cmd/gcn
	go build -trimpath -ldflags '-s -w' -o "$dir/blocks" ./bench/peers/blocks
	for package in $packages; do
		go test -modfile go.cuda.mod -tags cuda -trimpath -ldflags '-s -w' -c -o "$dir/$(basename "$package").test" "./$package"
	done
	for package in cu cu/blas; do
		(cd "cuda/$package" && go test -trimpath -ldflags '-s -w' -c -o "$dir/$(basename "$package").test" .)
	done
	git describe --always --dirty --exclude '*' >"$dir/commit" 2>/dev/null || echo unknown >"$dir/commit"
	tar -C "$(dirname "$dir")" -cf - "$(basename "$dir")" | xz -T0 >"$dir.tar.xz"
	ls -l "$dir" "$dir.tar.xz"
}

unpack() {
	[ -f "$dir.tar.xz" ] || { echo "$dir holds no programs, and there is no $dir.tar.xz: see build" >&2; exit 1; }
	tar -C "$(dirname "$dir")" -xf "$dir.tar.xz" 2>/dev/null || "$python" -m tarfile -e "$dir.tar.xz" "$(dirname "$dir")" # no xz there
}

note() { printf '%s\n' "$@" | tee -a "$dir/results.md"; }

# why LOG: prints the messages of failed tests in LOG, and its end.
why() {
	grep -E '_test\.go:[0-9]+: |--- FAIL|^panic: |^fatal error: |^[[:space:]]+Test' "$1" | cut -c 1-300 | head -n 60 || true
	echo "the end of $(basename "$1"):"
	tail -n 15 "$1"
}

# within SECONDS COMMAND...: runs COMMAND for at most SECONDS, and within the limit of the step.
within() {
	local most=$((limit - SECONDS))
	[ "$1" -lt "$most" ] && most=$1
	[ "$most" -gt 5 ] || { echo 'no time is left in this step' >&2; return 124; }
	shift
	local code=0
	timeout --kill-after 5 "$most" "$@" &
	echo $! >"$dir/running" # finish ends it if this script is ended
	wait $! || code=$?
	rm -f "$dir/running"
	return $code
}

# measure NAME SECONDS COMMAND...: writes standard output to NAME.json and standard error to NAME.log.
measure() {
	local name=$1 code=0
	shift
	within "$@" >"$dir/$name.json" 2>"$dir/$name.log" || code=$?
	[ "$code" != 0 ] || return 0
	rm "$dir/$name.json"
	note "- $name: FAILED, exit $code"
	why "$dir/$name.log"
}

watching= # the process that records the GPU's memory
trap '[ "$BASH_SUBSHELL" -gt 0 ] || echo "bench/cuda.sh: line $LINENO failed in step $step: ${FUNCNAME[*]}" >&2' ERR
finish() {
	[ ! -f "$dir/running" ] || { kill "$(cat "$dir/running")"; rm -f "$dir/running"; } 2>/dev/null || true
	unwatch
	(cd "$dir" && find . -maxdepth 1 '(' -name '*.log' -o -name '*.json' -o -name '*.txt' -o -name results.md ')' | tar -czf logs.tar.gz -T -) || true
}

# watch FILE OPTION...: records the GPU's memory in use in FILE until unwatch.
watch() {
	local file=$1
	shift
	stdbuf -oL nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits "$@" >"$file" &
	watching=$!
}
unwatch() {
	[ -z "$watching" ] || { kill "$watching" && wait "$watching"; } 2>/dev/null || true
	watching=
}

heading() {
	local cuda
	cuda=$("$dir/gcn" version 2>"$dir/version.log" | sed -n 's/^CUDA *//p') || { cat "$dir/version.log" >&2; exit 1; }
	note "" "## $1, $(date -u +%Y-%m-%dT%H:%MZ), commit $(cat "$dir/commit"), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)" "" "$cuda"
	case $cuda in
	'built in'*) echo 'no GPU can be used' >&2; exit 1 ;;
	*'no cuBLAS'*) # look in the interpreter's wheels
		GCN_CUBLAS=$("$python" -c 'import glob, site, sysconfig
folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
found = [f for d in folders for w in ("nvidia/*/lib", "torch/lib") for f in glob.glob(f"{d}/{w}/libcublas.so.[0-9]*")]
print(max(found, default=""))')
		[ -n "$GCN_CUBLAS" ] || { echo 'no cuBLAS: GCN_CUBLAS may name one' >&2; exit 1; }
		export GCN_CUBLAS
		note "with GCN_CUBLAS=$GCN_CUBLAS" ;;
	esac
}

# tests PACKAGE SECONDS PATTERN: runs the package's test binary in its folder; after a hang it prints the stacks.
tests() { (cd "$root/$1" && within $(($2 + 10)) "$dir/$(basename "$1").test" -test.v -test.timeout "$2s" -test.run "$3"); }

# count RESULT LOG: prints how many tests, without subtests, ended with RESULT.
count() { grep -c -- "^--- $1" "$2" || true; }

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
		local only=. verdict=passed log
		[ "$package" != cmd/gcn ] || only=Device # others build programs, or take no device
		log=$dir/$(basename "$package").log
		tests "$package" 230 "$only" >"$log" 2>&1 || verdict="FAILED, exit $?"
		note "- $package: $verdict; of its tests $(count PASS "$log") passed, $(count FAIL "$log") failed, $(count SKIP "$log") left out"
		[ "$verdict" = passed ] || why "$log"
	done
	tests ops 60 TestCountsOfAStep 2>&1 | grep -E 'Launches|FAIL' || true
}

bench() {
	heading "Training step, $data, samples 512,1024, hidden 256, 2 layers"
	local graph=$dir/graph.gcn batches=${BATCHES:-150}
	within 120 "$dir/gcn" datasets convert "$data" "$graph"
	within 60 "$dir/blocks" -data "store:$graph" -samples 512,1024 -batches "$batches" -out "$dir/blocks.bin"
	for k in 1 2 3; do
		measure "step-$k" 120 "$dir/gcn" bench train --data "store:$graph" --samples 512,1024 --classifier-dropout 0 --device cuda --batches "$batches" --json
		measure "peer-$k" 120 "$python" bench/peers/cuda.py "$graph" "$dir/blocks.bin"
	done
	for where in cpu cuda; do
		measure "infer-$where" 120 "$dir/gcn" bench infer --data "store:$graph" --device $where --json
	done
	"$python" - "$dir" <<'END' | tee -a "$dir/results.md"
import json, statistics, sys

def read(name):
    try:
        with open(f"{sys.argv[1]}/{name}.json") as file:
            return json.loads(file.read().splitlines()[-1])
    except (OSError, ValueError, IndexError):  # it failed
        return {}

def show(*values):
    return " | ".join("" if v is None else f"{v:.3f}" for v in values)

steps, peers = ([read(f"{name}-{k}") for k in (1, 2, 3)] for name in ("step", "peer"))
times, ratios = [o["ms_median"] for o in steps if o], []
print("\nMilliseconds; a step that waits ends with a wait for the GPU. Ours copies its batch there in every step, PyTorch only where it says so.\n")
print("| run | ours, waiting | ours, pipelined with sampling | PyTorch, waiting | PyTorch, queued | PyTorch, copying | form | PyTorch / ours, waiting |")
print("|--:|--:|--:|--:|--:|--:|---|--:|")
for k, (o, p) in enumerate(zip(steps, peers), 1):
    if o and p:
        ratios.append(p["waiting"] / o["ms_median"])
    print(f"| {k} | {show(o.get('ms_median'), o.get('pipelined_ms_per_batch'), p.get('waiting'), p.get('queued'), p.get('copying'))} | {p.get('form', '')} | {show(ratios[-1] if o and p else None)} |")
if times:
    print(f"\nMedian of the runs: {statistics.median(times):.3f} ms; the bar: at most 0.7.")
if ratios:
    print(f"\nMedian ratio: {statistics.median(ratios):.2f}; the bar: at least 2.")
for o in [o for o in steps if o][-1:]:
    print(f"\nOurs, a step: {o['launches_per_step']:.1f} kernels, {o['products_per_step']:.1f} products, {o['copies_per_step']:.2f} copies, {o['bytes_to_device_per_step']:.0f} bytes to the device, {o['syncs_per_step']:.3f} waits; "
          f"dense products alone {o['floor_ms']:.3f} ms; {o['device_bytes'] / 1e6:.0f} MB; {o['parameters']} parameters.")
for p in [p for p in peers if p][-1:]:
    print(f"\nPyTorch {p['torch']}, {p['parameters']} parameters, {p['device_bytes'] / 1e6:.0f} MB; waiting, queued: {'; '.join(f'{form} {a:.3f}, {b:.3f}' for form, (a, b) in p['all'].items())}.")
print()
for o in filter(None, (read("infer-cpu"), read("infer-cuda"))):
    print(f"- inference over all nodes, {o['device']}: {o['ms']:.1f} ms")
END
}

long() {
	local log=$dir/long.log verdict=passed
	export GCN_CUDA_STEPS=${STEPS:-10000}
	heading "$GCN_CUDA_STEPS steps, twice"
	watch "$dir/memory.txt" -l 5
	tests train 530 'TestLongRunOnDevice|TestDeviceAgreesWithCPU' >"$log" 2>&1 || verdict="FAILED, exit $?"
	unwatch
	note "$verdict" "$(grep -E 'steps:|differ by|FAIL' "$log" | sed 's/^ */- /')" \
		"- GPU memory in use, MiB, every 5 s: $(tr '\n' ' ' <"$dir/memory.txt")"
	[ "$verdict" = passed ] || why "$log"
}

products() {
	heading "${PRODUCTS:-synth:products}"
	watch "$dir/peak.txt" -lms 200
	measure products 540 "$dir/gcn" train --data "${PRODUCTS:-synth:products}" --samples 512,1024 --device cuda --max-batches 200 --eval-every 100 --patience 0 --out "$dir/products-run" --overwrite --json -q
	unwatch
	[ ! -f "$dir/products.json" ] || note "- 200 batches, two validations and the test: $(tail -n 1 "$dir/products.json")"
	note "- GPU memory in use at most: $(sort -n "$dir/peak.txt" | tail -n 1) MiB, $(sort -n "$dir/peak.txt" | head -n 1) before; the bar: 8192"
}

# sanitize TOOL
sanitize() {
	heading "compute-sanitizer, $1"
	local sanitizer=${SANITIZER:-} left=4
	for sanitizer in "$sanitizer" "$(command -v compute-sanitizer || true)" /usr/local/cuda*/bin/compute-sanitizer; do
		[ ! -x "$sanitizer" ] || break
	done
	[ -x "$sanitizer" ] || { note 'not there'; return; }
	for what in 'train TestProgramOnDevice|TestFitKeepsStateOnDevice' 'layers OnDevice' 'ops Planned|History.*(Device|Copies)|Gradients/(Propagate|Activate|Affine)|LossGradients/2' 'internal/device .'; do
		local package=${what%% *} tests=${what#* } log verdict=clean
		log="$dir/$1-$(basename "$package").log"
		(cd "$package" && within $(((limit - SECONDS) / left)) "$sanitizer" --tool "$1" --error-exitcode 9 "$dir/$(basename "$package").test" -test.v -test.run "$tests") >"$log" 2>&1 || verdict="exit $?"
		left=$((left - 1))
		note "- $1, $package ($tests): $verdict, $(count PASS "$log") tests passed, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -n 1)"
		[ "$verdict" = clean ] || { grep -m 30 '^=========' "$log" || true; tail -n 5 "$log"; }
	done
}

memcheck() { sanitize memcheck; }
racecheck() { sanitize racecheck; }

# each STEP...: runs the steps; each may use the time that is left.
each() {
	for s; do
		LIMIT=$((limit - SECONDS)) "$root/bench/cuda.sh" "$s" "$dir" || note "step $s ended with an error"
	done
}

case $step in
build) build ;;
first | check | bench | long | products | memcheck | racecheck)
	[ -x "$dir/gcn" ] || unpack
	mkdir -p "$CUDA_CACHE_PATH"
	trap finish EXIT
	"$step" ;;
all)
	for s in first check bench long products memcheck racecheck; do
		SECONDS=0
		each "$s"
	done ;;
*,*) IFS=, read -ra steps <<<"$step" && each "${steps[@]}" ;;
*) echo "no step $step" >&2; exit 2 ;;
esac

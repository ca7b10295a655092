#!/usr/bin/env bash
# Measures training against the graph's size, and prints a table for scale.md. Each graph is generated as a store, and
# trained on by "gcn bench train" in a process of its own. Needs Go, Linux, jq and GNU dd.
#
#   bench/scale.sh [NODES…]    default: 100000 1000000 10000000
#
# Variables and their defaults: DATA=synth:papers100M, generated data without the key nodes; STORES, a folder that keeps
# the stores (a temporary one); OPTIONS="--samples 1024,1024 --batch 1000 --batches 100" of gcn bench train;
# COLD=1 removes each store from the system's cache before it is trained on.
set -euo pipefail
[ $# -gt 0 ] || set -- 100000 1000000 10000000
cd "$(dirname "$0")/.."
data=${DATA:-synth:papers100M} work=$(mktemp -d)
stores=${STORES:-$work}
trap 'rm -rf "$work"' EXIT
read -ra options <<<"${OPTIONS:---samples 1024,1024 --batch 1000 --batches 100}"
go build -o "$work/gcn" ./cmd/gcn

printf '%s, %s, %s\n\n' "$(date +%F)" "$(git describe --always --dirty)" "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
echo '| nodes | edges | store MB | sampling ms | step ms | pipelined ms | MB read a batch | own memory MB |'
echo '|--:|--:|--:|--:|--:|--:|--:|--:|'
for nodes in "$@"; do
	store=$stores/$nodes.safetensors
	[ -f "$store" ] || "$work/gcn" datasets convert "$data?nodes=$nodes" "$store" --features float16 >&2
	[ -z "${COLD-}" ] || dd of="$store" oflag=nocache conv=notrunc,fdatasync count=0 status=none
	"$work/gcn" bench train --data "store:$store" "${options[@]}" --json >"$work/result" &
	own=0 read=0
	while now=$(awk '/^RssAnon/ {print $2}' /proc/$!/status 2>/dev/null) && [ -n "$now" ]; do # it ends with the process
		own=$((now > own ? now : own))
		read=$(awk '/^read_bytes/ {print $2}' /proc/$!/io 2>/dev/null || echo "$read")
		sleep 0.02
	done
	wait $!
	"$work/gcn" datasets info "store:$store" --json >"$work/info"
	# Steps in turn with sampling, and three pipelined passes, read the same batches.
	jq -rs --argjson own "$own" --argjson read "$read" --argjson size "$(stat -c %s "$store")" '
		def r(n): . * pow(10; n) | round / pow(10; n);
		.[0] as $i | .[1] | "| \($i.nodes) | \($i.edges) | \($size / 1e6 | round) | \(.sampling_ms_median | r(2)) | \(.ms_median | r(2)) | " +
		"\(.pipelined_ms_per_batch | r(2)) | \($read / 1e6 / (.batches + 40) | r(1)) | \($own / 1e3 | round) |"' "$work/info" "$work/result"
done

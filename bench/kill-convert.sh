#!/usr/bin/env bash
# Converts a data set to a store, kills the conversion at random with kill -9, goes on, and
# compares the result with the store of an undisturbed conversion, byte for byte.
#
#   bench/kill-convert.sh GCN SPEC FOLDER [KILLS] [OPTION…]
#
# KILLS is 20 unless given; OPTION is an option of gcn datasets convert. FOLDER needs room for
# two stores and the temporary files. The stores are removed at the end.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
gcn=$1 spec=$2 folder=$3 kills=${4:-20}
shift $(($# < 4 ? $# : 4))
mkdir -p "$folder"
export GCN_DATA=$folder/cache

SECONDS=0
"$gcn" datasets convert "$spec" "$folder/whole.store" "$@" 2>/dev/null
took=$((SECONDS > 1 ? SECONDS : 1))
echo "undisturbed: $took s"

RANDOM=1
killed=0 finished=no
while [ $killed -lt "$kills" ]; do
	"$gcn" datasets convert "$spec" "$folder/killed.store" "$@" >/dev/null 2>&1 &
	child=$!
	# A twentieth of the time of a whole conversion on average, so that all stages are hit.
	sleep "$(awk -v r=$RANDOM -v t=$took 'BEGIN { printf "%.2f", 0.2 + r / 32768 * t / 10 }')"
	if kill -9 $child 2>/dev/null; then killed=$((killed + 1)); fi
	if wait $child 2>/dev/null; then
		finished=yes
		cmp "$folder/whole.store" "$folder/killed.store"
		rm "$folder/killed.store"
	fi
	[ -d "$folder/.killed.store.convert" ] && stage=$(ls "$folder/.killed.store.convert" | sed 's/^[0-9]*\.//' | sort | uniq -c | awk '{printf "%s %s, ", $1, $2}') || stage='nothing, '
	echo "killed $killed: ${stage%, }"
done
"$gcn" datasets convert "$spec" "$folder/killed.store" "$@" >/dev/null 2>&1
cmp "$folder/whole.store" "$folder/killed.store"
left=$(find "$folder" -maxdepth 1 -name '.*.convert')
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
echo "killed $killed times, finished in between: $finished; the store is the same, $(stat -c %s "$folder/whole.store") bytes"
rm "$folder/whole.store" "$folder/killed.store"

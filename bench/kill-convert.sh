#!/usr/bin/env bash
# Converts a data set to a store, kills conversions at random with kill -9, and then
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
"$gcn" datasets convert "$spec" "$folder/whole.safetensors" "$@" 2>/dev/null
took=$((SECONDS > 1 ? SECONDS : 1))
echo "undisturbed: $took s"

RANDOM=1
killed=0 finished=no
while [ $killed -lt "$kills" ]; do
	"$gcn" datasets convert "$spec" "$folder/killed.safetensors" "$@" >/dev/null 2>&1 &
	child=$!
	# Half the time of a whole conversion on average, so that all stages are hit.
	sleep "$(awk -v r=$RANDOM -v t=$took 'BEGIN { printf "%.2f", 0.2 + r / 32768 * t }')"
	if kill -9 $child 2>/dev/null; then killed=$((killed + 1)); fi
	if wait $child 2>/dev/null; then
		finished=yes
		cmp "$folder/whole.safetensors" "$folder/killed.safetensors"
		rm "$folder/killed.safetensors"
	fi
	[ ! -e "$folder/killed.safetensors" ] || { echo "a killed conversion left a store" >&2; exit 1; }
	echo "killed $killed"
done
"$gcn" datasets convert "$spec" "$folder/killed.safetensors" "$@" >/dev/null 2>&1
cmp "$folder/whole.safetensors" "$folder/killed.safetensors"
left=$(find "$folder" -maxdepth 1 -name '.*.part*')
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
echo "killed $killed times, finished in between: $finished; the store is the same, $(stat -c %s "$folder/whole.safetensors") bytes"
rm "$folder/whole.safetensors" "$folder/killed.safetensors"

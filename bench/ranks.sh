#!/usr/bin/env bash
# Trains on two ranks of one core each in two network namespaces of this machine, over links of given speeds, after a
# process alone. Each prints the JSON object of its run: train_ms_per_batch, comm_ms_per_step, imbalance. Needs root,
# iproute2, util-linux, Go, and Open MPI or MPICH.
#
#   bench/ranks.sh [RATE…]     rates as tc writes them; "none" is a link without a limit
#
# Variables and their defaults: LAUNCHER=mpirun.openmpi, or mpirun.mpich; DATA=synth:arxiv, MICRO=8, UPDATES=60;
# COMMAND, to run in place of "gcn train", with $gcn for the program.
set -euo pipefail
[ $# -gt 0 ] || set -- none 10gbit 1gbit 100mbit
launcher=${LAUNCHER:-mpirun.openmpi}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
clean() {
	for k in 1 2; do ip netns delete gcn$k 2>/dev/null || true; done
	rm -rf "$work"
}
trap clean EXIT
export gcn=$work/gcn
go build -o "$gcn" ./cmd/gcn

for k in 1 2; do ip netns add gcn$k; done
ip link add gcn1 netns gcn1 type veth peer name gcn2 netns gcn2
for k in 1 2; do
	ip -n gcn$k address add 10.99.0.$k/24 dev gcn$k
	ip -n gcn$k link set gcn$k up
	ip -n gcn$k link set lo up
done

# Takes the place of ssh: runs a command on the host 10.99.0.K, which is namespace K.
cat >"$work/on" <<'EOF'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done # options of ssh
name=gcn${1##*.}
shift
exec ip netns exec "$name" unshare --uts sh -c 'echo "$0" >/proc/sys/kernel/hostname; exec sh -c "$1"' "$name" "$*"
EOF
# Runs a rank on a core of its own.
cat >"$work/rank" <<'EOF'
#!/bin/sh
exec taskset -c "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" "$@"
EOF
chmod +x "$work/on" "$work/rank"

case $launcher in
*mpich*)
	ranks=("$launcher" -launcher ssh -launcher-exec "$work/on" -hosts 10.99.0.1,10.99.0.2 -n 2)
	export UCX_TLS=tcp,self
	;;
*)
	ranks=("$launcher" --allow-run-as-root --mca plm_rsh_agent "$work/on" --host 10.99.0.1,10.99.0.2 --bind-to none -n 2
		--mca btl tcp,self --mca btl_tcp_if_include 10.99.0.0/24 --mca oob_tcp_if_include 10.99.0.0/24 -x gcn)
	;;
esac
run=${COMMAND:-"\$gcn train --recipe paper --data '${DATA:-synth:arxiv}' --micro ${MICRO:-8} --max-batches ${UPDATES:-60} --eval-every ${UPDATES:-60} --out $work/run --overwrite --json"}
printf '%s, %s, %s\n' "$(date +%F)" "$(git describe --always --dirty)" "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
printf '\n== alone\n'
taskset -c 0 sh -c "$run"
for rate in "$@"; do
	for k in 1 2; do
		tc -n gcn$k qdisc delete dev gcn$k root 2>/dev/null || true
		[ "$rate" = none ] || tc -n gcn$k qdisc add dev gcn$k root tbf rate "$rate" burst 256kb latency 400ms
	done
	printf '\n== %s\n' "$rate"
	"$work/on" 10.99.0.1 "cd $PWD && $(printf '%q ' "${ranks[@]}" "$work/rank" sh -c "$run")"
done

#!/usr/bin/env bash
# install.sh [PREFIX]: builds the notebook kernel and installs it in PREFIX, for use
# with JUPYTER_PATH=PREFIX. Without PREFIX it installs it in your Jupyter folder. It
# needs Go, and Jupyter if PREFIX is not given. It replaces an installed kernel.
set -euo pipefail
fail() { printf '%s\n' "$1" >&2; exit 1; }

case ${1-} in -*) echo 'usage: notebooks/install.sh [PREFIX]'; [ "$1" = --help ] || [ "$1" = -h ] || exit 2; exit ;; esac
[ $# -le 1 ] || { echo 'usage: notebooks/install.sh [PREFIX]' >&2; exit 2; }
command -v go >/dev/null || fail 'Go is not installed: see https://go.dev/dl/'
if [ $# = 1 ]; then
	prefix=$1
	use="JUPYTER_PATH=$prefix jupyter notebook"
else
	command -v jupyter >/dev/null ||
		fail 'Jupyter is not installed: on Debian, apt-get install jupyter-notebook jupyter-nbconvert (or name a folder: notebooks/install.sh PREFIX)'
	prefix=$(jupyter --data-dir)
	use='jupyter notebook'
fi
here=$(cd "$(dirname "$0")" && pwd)
kernel=$prefix/kernels/gcn
mkdir -p "$kernel" || fail "cannot make the folder $kernel"

"$here/kernel/build" "$kernel/gcn-kernel.new"
mv -f "$kernel/gcn-kernel.new" "$kernel/gcn-kernel" # a running kernel keeps the old file
cat >"$kernel/kernel.json" <<'JSON'
{
	"argv": ["{resource_dir}/gcn-kernel", "{connection_file}"],
	"display_name": "Go (gcn)",
	"language": "go",
	"interrupt_mode": "signal"
}
JSON
printf 'Installed the kernel "Go (gcn)" in %s\nStart it with: %s\n' "$kernel" "$use"

#!/usr/bin/env bash
# install.sh [PREFIX]: builds GoNB, the kernel that compiles cells, and installs it as
# ../install.sh does the other kernel. Its cells import the library in this checkout:
# keep the folder and Go to run notebooks.
set -euo pipefail
fail() { printf '%s\n' "$1" >&2; exit 1; }

case ${1-} in -*) echo 'usage: notebooks/gonb/install.sh [PREFIX]'; [ "$1" = --help ] || [ "$1" = -h ] || exit 2; exit ;; esac
[ $# -le 1 ] || { echo 'usage: notebooks/gonb/install.sh [PREFIX]' >&2; exit 2; }
command -v go >/dev/null || fail 'Go is not installed: see https://go.dev/dl/'
if [ $# = 1 ]; then
	prefix=$1
else
	command -v jupyter >/dev/null ||
		fail 'Jupyter is not installed: on Debian, apt-get install jupyter-notebook jupyter-nbconvert (or name a folder: notebooks/gonb/install.sh PREFIX)'
	prefix=$(jupyter --data-dir)
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$prefix/kernels/gonb" || fail "cannot make the folder $prefix/kernels/gonb"
kernel=$(cd "$prefix/kernels/gonb" && pwd)
case $here$kernel in *[\"\\,:]*) fail "GoNB cannot be installed from or to a path with a quote, backslash, comma or colon: $here, $kernel" ;; esac

cd "$here"
export GOWORK=off
CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$kernel/new/" github.com/janpfeifer/gonb golang.org/x/tools/cmd/goimports
go mod download # the modules that cells import, so that cells need no network
(cd ../.. && go mod download)
mv -f "$kernel/new/"* "$kernel/" && rmdir "$kernel/new"
cat >"$kernel/kernel.json" <<JSON
{
	"argv": ["{resource_dir}/gonb", "--kernel", "{connection_file}", "--raw_error", "--go_work=${here%/*/*},$here"],
	"display_name": "Go (gonb)",
	"language": "go",
	"interrupt_mode": "message",
	"env": {"PATH": "$kernel:\${PATH}", "GOFLAGS": "-buildvcs=false", "GOWORK": ""}
}
JSON
printf 'Installed the kernel "Go (gonb)" in %s\n' "$kernel"

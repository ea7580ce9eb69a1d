#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job with four steps, each limited by another resource. docs/tutorial/slow-job.md finds out which.
#   [BLOCK=4M] job.sh [SECONDS]     the length of a step (default: 10); the size of a block that is written (default: 64k)
set -eu
seconds=${1:-10}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/slow-job.XXXXXX")
server=
trap 'rm -rf "$scratch"; [ -z "$server" ] || kill "$server"' EXIT

step() {
  echo "step: $*" >&2
}

step "compress (CPU)"
timeout "$seconds" sh -c 'head -c 100000000000 /dev/zero | gzip >/dev/null' || true

step "write with a sync after each block (disk)"
timeout "$seconds" dd if=/dev/zero of="$scratch/data" bs="${BLOCK:-64k}" oflag=dsync status=none || true

if command -v python3 >/dev/null; then
  step "copy over the network"
  python3 "$here/server.py" "$scratch/port" &
  server=$!
  while [ ! -s "$scratch/port" ]; do sleep 0.1; done
  python3 "$here/client.py" "$(cat "$scratch/port")" "$seconds"
fi

if command -v java >/dev/null; then
  step "java (garbage collections)"
  java -Xmx64m -XX:+PreserveFramePointer "$here/Churn.java" "$seconds"
fi

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# add.sh VERSION: at a release that brings a new plugin ABI, keeps what authors get with it: the header, the test plugin, and that
# compiled here (x86-64, Debian 12's gcc). Extend the new plugin.c by what the header has appended, and run this again.
set -eu
cd "$(dirname "$0")"
last=$(ls -d [0-9]*.[0-9]* | sort -V | tail -1)
if git ls-files --error-unmatch "$1" >/dev/null 2>&1; then
  echo "add.sh: $1 is released; what is released stays as it is" >&2
  exit 1
fi
[ "$(uname -m)" = x86_64 ] || { echo "add.sh: x86-64 only" >&2; exit 1; }
[ -d "$1" ] || { mkdir "$1"; cp "$last/plugin.c" "$1"; }
cp ../../../core/include/atalaya/plugin.h "$1"
gcc -std=c11 -Os -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -fPIC -shared -fvisibility=hidden -s "-ffile-prefix-map=$PWD/=" \
  -Wl,--version-script=../../../cmake/plugin.map -Wl,-z,noseparate-code -Wl,--build-id=none -o "$1/plugin-x86_64.so" "$1/plugin.c"
ls -l "$1"

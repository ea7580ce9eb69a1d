#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples.sh SOURCE BUILD VERIFY: installs what plugin authors get, builds each example against it out of tree, and runs the lifecycle
# kit and the export check over the results.
set -eu
source=$1 build=$2 verify=$3
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" --component dev >"$work/log" || { cat "$work/log"; exit 1; }
for example in plugin-c plugin-cpp; do
  cp -r "$source/examples/$example" "$work/$example"
  cmake -S "$work/$example" -B "$work/$example/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
  cmake --build "$work/$example/build"
  "$source/tests/abi/exports.sh" "$work/$example/build/plugins"
  "$verify" "$work/$example/build/plugins"
done

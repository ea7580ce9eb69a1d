#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exports.sh FOLDER...: every plugin right in there exports atalaya_plugin_v1 and nothing else.
status=0
for file in $(find "$@" -maxdepth 1 -name '*.so'); do
  symbols=$(nm -D --defined-only "$file" | awk '{print $3}' | tr '\n' ' ')
  count=$((count + 1))
  [ "$symbols" = "atalaya_plugin_v1 " ] || { echo "$file exports: $symbols" >&2; status=1; }
done
[ "${count:-0}" -gt 0 ] || { echo "no plugin in $*" >&2; status=1; }
exit $status

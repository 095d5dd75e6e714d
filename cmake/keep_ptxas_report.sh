#!/bin/sh
# keep_ptxas_report.sh NVCC ARGUMENT...
# Compiles, and writes what the assembler says about each kernel (-Xptxas -v) to OBJECT.ptxas instead of the terminal.
set -u
object=
previous=
for argument in "$@"; do
  if [ "$previous" = -o ]; then object=$argument; fi
  previous=$argument
done
"$@" >"$object.ptxas" 2>&1
status=$?
grep -v -e '^ptxas info' -e '^ *[0-9]* bytes stack frame' -e '^$' "$object.ptxas" >&2
exit $status

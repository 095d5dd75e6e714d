#!/bin/sh
# Installs the Debian/Ubuntu packages that building and running onward needs; with `test`, also those of the tests.
set -eu

build="g++ cmake ninja-build libonnx-dev libprotobuf-dev protobuf-compiler libdnnl-dev libopenblas-dev
  libcxxopts-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libarchive-dev zlib1g-dev libxxhash-dev"
demo="dataset-fashion-mnist"
test="libgtest-dev libgmock-dev libbenchmark-dev libonnx-testdata python3 python3-venv python3-numpy python3-torch"

packages="$build $demo"
[ "${1:-}" = test ] && packages="$packages $test"

missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

root=""
[ "$(id -u)" = 0 ] || root="sudo"
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$root apt-get install -y -qq --no-install-recommends $missing >/dev/null

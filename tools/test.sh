#!/bin/sh
# Installs what the tests need, builds everything and runs every test: the optimised build, the unit tests under the address
# and undefined behaviour sanitizers, the runtime tests under the thread sanitizer, and the comparisons with ONNX Runtime and
# the onnx package, which live in a virtual environment of their own.
set -eu
cd "$(dirname "$0")/.."
sh tools/install_packages.sh test

jobs=$(nproc)
venv=build/venv
if [ ! -x $venv/bin/python ] || ! $venv/bin/python -c "import onnx, onnxruntime, numpy, safetensors" 2>/dev/null; then
  /usr/bin/python3 -m venv --clear $venv
  $venv/bin/pip install --quiet --disable-pip-version-check onnx onnxruntime numpy safetensors
fi

step() { echo "== $*"; }

step "release build"
cmake --preset release -DONWARD_TESTS=ON -DONWARD_TEST_PYTHON="$PWD/$venv/bin/python"
cmake --build --preset release -j "$jobs"

step "unit tests under the address and undefined behaviour sanitizers"
cmake --preset asan
cmake --build --preset asan -j "$jobs" --target onward_tests onward_cuda_tests
build/asan/onward_tests --gtest_brief=1
build/asan/onward_cuda_tests --gtest_brief=1

step "runtime tests under the thread sanitizer"
cmake --preset tsan
cmake --build --preset tsan -j "$jobs" --target onward_tests
build/tsan/onward_tests --gtest_brief=1

step "all tests of the release build"
ctest --test-dir build/release --output-on-failure -j "$jobs"

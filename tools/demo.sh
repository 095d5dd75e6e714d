#!/bin/sh
# Installs what is needed, builds the program, and does its main job on real images: a ResNet-8 is written as .onnx, trained
# on Fashion-MNIST on two replicas with synchronised batch normalisation (about two minutes on two cores), exported and
# evaluated. Everything made goes to build/demo.
set -eu
cd "$(dirname "$0")/.."
sh tools/install_packages.sh

cmake --preset release -DONWARD_TESTS=OFF
cmake --build --preset release -j "$(nproc)"

onward=build/release/onward
demo=build/demo
rm -rf $demo
mkdir -p $demo

set -x
$onward model resnet8 -o $demo/resnet8.onnx
$onward train $demo/resnet8.onnx --data /usr/share/datasets/fashion-mnist --fit pad --out $demo/run \
  --devices cpu:2 --bn sync --batch-size 128 --epochs 4 --augment hflip,crop:2 \
  --optimizer momentum --lr 0.1 --weight-decay 1e-4 --schedule cosine --warmup-epochs 0.2
$onward export $demo/run -o $demo/trained.onnx
$onward eval $demo/trained.onnx --data /usr/share/datasets/fashion-mnist --fit pad --json > $demo/result.json
set +x

accuracy=$(sed 's/.*"accuracy":\([0-9.]*\).*/\1/' $demo/result.json)
echo "test accuracy of the exported model: $accuracy"
awk -v accuracy="$accuracy" 'BEGIN { exit !(accuracy >= 0.85) }' || { echo "expected at least 0.85" >&2; exit 1; }

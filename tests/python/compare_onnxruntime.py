#!/usr/bin/env python3
"""Train a little, export, and hold what was written against ONNX Runtime and the newest onnx and safetensors packages.

Checks that the checkpoint holds the exported values, that onnx's checker accepts the exported file, that names are those of the
source model, that BatchNormalization is in inference form, and that ONNX Runtime gives the scores and the accuracy of `onward eval`.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import safetensors.numpy


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_cifar(folder, train, test, seed=0):
    """CIFAR-10's binary files as published, filled with patterns that can be learnt. Returns test images and labels."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 256, (10, 3072))

    def records(count):
        labels = random.integers(0, 10, count)
        pixels = np.clip(patterns[labels] + random.normal(0, 40, (count, 3072)), 0, 255).astype(np.uint8)
        return labels, pixels

    def write(name, labels, pixels):
        with open(os.path.join(folder, name), "wb") as file:
            for label, row in zip(labels, pixels):
                file.write(bytes([label]) + row.tobytes())

    os.makedirs(folder)
    for part in range(1, 6):
        write(f"data_batch_{part}.bin", *records(train))
    labels, pixels = records(test)
    write("test_batch.bin", labels, pixels)
    return pixels.reshape(-1, 3, 32, 32), labels


def normalise(pixels):
    mean = np.array([.4914, .4822, .4465], np.float32).reshape(3, 1, 1)
    deviation = np.array([.2470, .2435, .2616], np.float32).reshape(3, 1, 1)
    return (pixels.astype(np.float32) / 255 - mean) / deviation


def check_form(source, exported):
    onnx.checker.check_model(exported, full_check=True)
    names = lambda model: ([i.name for i in model.graph.initializer], [i.name for i in model.graph.input],
                           [o.name for o in model.graph.output], [n.name for n in model.graph.node])
    assert names(source) == names(exported), "the names changed"
    for node in exported.graph.node:
        if node.op_type == "BatchNormalization":
            mode = [a.i for a in node.attribute if a.name == "training_mode"]
            assert len(node.output) == 1 and mode in ([], [0]), f"{node.name} is in training form"
    changed = sum(not np.array_equal(onnx.numpy_helper.to_array(a), onnx.numpy_helper.to_array(b))
                  for a, b in zip(source.graph.initializer, exported.graph.initializer))
    assert changed > len(source.graph.initializer) // 2, "training changed too few tensors"


def check_checkpoint(checkpoint, exported):
    """The exported parameters and running statistics are the tensors of the checkpoint, bit for bit, under the same names."""
    for tensor in exported.graph.initializer:
        assert np.array_equal(checkpoint[tensor.name], onnx.numpy_helper.to_array(tensor)), f"{tensor.name} differs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onward", required=True)
    parser.add_argument("--model", default="resnet8")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        # The published files hold 10,000 records each and the reader insists on it.
        images, labels = write_cifar(path("data"), 10000, 10000)
        call(args.onward, "model", args.model, "-o", path("source.onnx"))
        call(args.onward, "train", path("source.onnx"), "--data", path("data"), "--out", path("run"), "--epochs", "1",
             "--max-steps", "40", "--batch-size", "64", "--devices", "cpu:2")
        call(args.onward, "export", path("run"), "-o", path("trained.onnx"))
        ours = json.loads(call(args.onward, "eval", path("trained.onnx"), "--data", path("data"), "--json", "--logits",
                               path("logits.npy")))
        check_form(onnx.load(path("source.onnx")), onnx.load(path("trained.onnx")))
        check_checkpoint(safetensors.numpy.load_file(path("run/last.safetensors")), onnx.load(path("trained.onnx")))
        session = onnxruntime.InferenceSession(path("trained.onnx"), providers=["CPUExecutionProvider"])
        feed = session.get_inputs()[0].name
        theirs = np.concatenate([session.run(None, {feed: normalise(images[i:i + 500])})[0] for i in range(0, len(images), 500)])
        logits = np.load(path("logits.npy"))
        difference = float(np.abs(logits - theirs).max() / max(1.0, np.abs(theirs).max()))
        accuracy = float((theirs.argmax(1) == labels).mean())
        alone = session.run(None, {feed: normalise(images[:1])})[0]
        pair = session.run(None, {feed: normalise(images[:2])})[0]
    print(f"{args.model}: {len(labels)} samples, largest difference of scores {difference:.2e}, accuracy {ours['accuracy']:.4f} "
          f"here and {accuracy:.4f} in ONNX Runtime")
    assert difference <= 1e-4, "scores differ"
    assert abs(accuracy - ours["accuracy"]) <= 1e-4, "accuracies differ"
    assert np.allclose(alone[0], pair[0], atol=1e-5), "a sample's scores depend on its batch"


if __name__ == "__main__":
    main()

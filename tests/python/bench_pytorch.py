#!/usr/bin/env python3
"""One training step of a network, here and in PyTorch, timed in turn: images a second, peak memory, and the ratio.

The machine may be shared, so that only the ratio says anything: each round times both, and the median of the rounds counts.
PyTorch runs in its default layout and channels-last, Adam as here; the faster form of each round is what is compared with.
Needs torch and numpy.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

from compare_pytorch import MODELS


def pytorch_steps(args):
    """Times steps in this process and prints a JSON line as `onward bench --json` does."""
    torch.set_num_threads(args.threads)
    layout = torch.channels_last if args.channels_last else torch.contiguous_format
    net = MODELS[args.model]().to(memory_format=layout).train()
    images = torch.randn(args.batch_size, 3, 32, 32).to(memory_format=layout)
    labels = torch.randint(0, 10, (args.batch_size,))
    optimizer, times = torch.optim.Adam(net.parameters(), lr=1e-3), []
    for _ in range(args.steps + 1):  # the first one warms up
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"images_per_second": args.batch_size / statistics.median(times[1:]), "peak_rss_mib": peak}))


def measure(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onward", default="build/release/onward")
    parser.add_argument("--model", default="seed-resnet", choices=["seed-resnet", "resnet20", "lenet"])
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pytorch-only", action="store_true", help="time PyTorch in this process")
    parser.add_argument("--channels-last", action="store_true", help="with --pytorch-only")
    args = parser.parse_args()
    if args.pytorch_only:
        return pytorch_steps(args)
    common = ["--batch-size", str(args.batch_size), "--threads", str(args.threads), "--steps", str(args.steps)]
    theirs_command = [sys.executable, os.path.abspath(__file__), "--pytorch-only", "--model", args.model] + common
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.onnx")
        subprocess.run([args.onward, "model", args.model, "-o", file], check=True, capture_output=True)
        for _ in range(args.rounds):
            ours = measure([args.onward, "bench", file, "--optimizer", "adam", "--json"] + common)
            theirs = max((measure(theirs_command + form) for form in ([], ["--channels-last"])),
                         key=lambda result: result["images_per_second"])
            ratios.append(ours["images_per_second"] / theirs["images_per_second"])
            print(f"onward {ours['images_per_second']:.1f} images/s, {ours['peak_rss_mib']:.0f} MiB; "
                  f"PyTorch {theirs['images_per_second']:.1f} images/s, {theirs['peak_rss_mib']:.0f} MiB")
    print(f"{args.model}, batch {args.batch_size}, {args.threads} threads: ratio {statistics.median(ratios):.2f} "
          f"({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} rounds)")


if __name__ == "__main__":
    main()

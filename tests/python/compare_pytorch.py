#!/usr/bin/env python3
"""One model, one batch, three SGD steps: this program against PyTorch in double precision.

PyTorch builds the model, exports it in training form, and computes logits, loss, every gradient and the state after the steps
in double from the same weights. `onward run` does the same from the .onnx file; every tensor is compared by relative L2 norm.
Needs torch and numpy (Debian's python3-torch and python3-numpy are enough).
"""
import argparse
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn


class Residual(nn.Module):
    """activation(branch(x) + shortcut(x)); without a shortcut module x itself is added."""

    def __init__(self, branch, shortcut, activation=None):
        super().__init__()
        self.branch, self.shortcut, self.activation = branch, shortcut, activation or nn.ReLU()

    def forward(self, x):
        return self.activation(self.branch(x) + self.shortcut(x))


def conv_bn(cin, cout, kernel, stride=1, relu=True):
    layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(cout)]
    return layers + ([nn.ReLU()] if relu else [])


def average_pool(kernel, stride, padding):
    # With padding counted the exporter would write a Pad node of its own.
    return nn.AvgPool2d(kernel, stride, padding, count_include_pad=False)


def seed_resnet(smooth=False):
    """Bottleneck ResNet with a 7x7 stem; every shortcut is a 1x1 convolution with bias.

    `smooth` leaves out whatever decides by comparing: no Relu, average instead of maximum pooling.
    """
    pool, activation = (average_pool, nn.Identity()) if smooth else (nn.MaxPool2d, nn.ReLU())
    layers, cin = conv_bn(3, 64, 7, relu=not smooth) + [pool(3, 2, 1)], 64
    for blocks, cout, pooled in ((1, 128, False), (2, 256, True), (2, 512, False), (2, 512, True)):
        for _ in range(blocks):
            body = (conv_bn(cin, cout, 1, relu=not smooth) + conv_bn(cout, cout, 3, relu=not smooth) +
                    conv_bn(cout, cout, 1, relu=False))
            layers.append(Residual(nn.Sequential(*body), nn.Conv2d(cin, cout, 1), activation))
            cin = cout
        if pooled:
            layers.append(pool(3, 2, 1))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(cin, 10))


def smooth_seed_resnet():
    """Without decisions that rounding can flip, every fp32 gradient must be close."""
    return seed_resnet(smooth=True)


def resnet20():
    layers, cin = conv_bn(3, 16, 3), 16
    for cout in (16, 32, 64):
        for block in range(3):
            stride = 2 if block == 0 and cout > 16 else 1
            body = conv_bn(cin, cout, 3, stride) + conv_bn(cout, cout, 3, relu=False)
            same = stride == 1 and cin == cout
            shortcut = nn.Identity() if same else nn.Sequential(*conv_bn(cin, cout, 1, stride, relu=False))
            layers.append(Residual(nn.Sequential(*body), shortcut))
            cin = cout
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(cin, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


MODELS = {"seed-resnet": seed_resnet, "smooth-seed-resnet": smooth_seed_resnet, "resnet20": resnet20, "lenet": lenet}


def make_fixture(folder, name, batch, steps, lr, seed):
    """Writes model.onnx, input.npy and label.npy; returns what PyTorch computes, as {name: array}."""
    torch.manual_seed(seed)
    net = MODELS[name]()
    x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    torch.onnx.export(net.train(), x, os.path.join(folder, "model.onnx"), training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False, input_names=["input"], output_names=["logits"],
                      dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}})
    # The exporter's forward run updates the running statistics, and the file holds the updated ones: both sides start there.
    single = {key: value.clone() for key, value in net.state_dict().items()}
    net, x = net.double().train(), x.double().requires_grad_(True)
    np.save(os.path.join(folder, "input.npy"), x.detach().numpy())
    np.save(os.path.join(folder, "label.npy"), y.numpy())
    optimizer, losses, expected = torch.optim.SGD(net.parameters(), lr=lr), [], {}
    for step in range(steps):
        optimizer.zero_grad()
        logits = net(x)
        loss = nn.functional.cross_entropy(logits, y)
        loss.backward()
        if step == 0:
            expected["logits"] = logits.detach().numpy().copy()
            expected["input.grad"] = x.grad.numpy().copy()
            expected.update({key + ".grad": p.grad.numpy().copy() for key, p in net.named_parameters()})
        optimizer.step()
        losses.append(loss.item())
    expected["loss"] = np.array(losses)
    for key, value in net.state_dict().items():
        if not key.endswith("num_batches_tracked"):
            expected[key + ".updated"] = value.numpy().copy()
    return expected, own_rounding(net.float(), single, x.detach().float(), y, expected)


def own_rounding(net, state, x, y, expected):
    """The worst error of PyTorch's own fp32 gradients: where Relu and pooling decisions flip by rounding, no fp32 is closer."""
    net.load_state_dict(state)
    net.zero_grad()
    nn.functional.cross_entropy(net.train()(x), y).backward()
    return max(relative_error(p.grad.numpy(), expected[key + ".grad"]) for key, p in net.named_parameters()
               if np.linalg.norm(expected[key + ".grad"]) > 1e-9)


def relative_error(ours, theirs):
    """Relative L2 norm of the difference; elements whose true value is zero hold nothing but rounding noise."""
    return float(np.linalg.norm(ours.astype(np.float64) - theirs) / max(np.linalg.norm(theirs), 1e-6 * theirs.size ** 0.5))


def onward_run(onward, folder, out, precision, steps, lr, devices):
    command = [onward, "run", os.path.join(folder, "model.onnx"), "--input", "input=" + os.path.join(folder, "input.npy"),
               "--label", os.path.join(folder, "label.npy"), "--loss", "cross_entropy", "--optimizer", "sgd", "--lr", str(lr),
               "--steps", str(steps), "--precision", precision, "--bn-running-var", "unbiased", "--devices", devices, "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def before_batch_norm(onnx_free_names, expected):
    """Biases of convolutions directly before a BatchNorm have a true gradient of zero: nothing to compare there."""
    return {name for name in onnx_free_names if np.linalg.norm(expected[name]) < 1e-9}


def take(array, key, precision):
    """In fp32 only the first of the losses: later ones carry the drift of the steps before them."""
    return array[:1] if key == "loss" and precision == "fp32" else array


def load(path, key, precision):
    return take(np.load(path), key, precision)


def compare(name, expected, out, precision, tolerances):
    zero = before_batch_norm([key for key in expected if key.endswith(".grad")], expected)
    worst, missing = {}, []
    for key, theirs in expected.items():
        path = os.path.join(out, key.replace("/", "_") + ".npy")
        if not os.path.exists(path):
            missing.append(key)
            continue
        if precision == "fp32" and key.endswith(".updated"):
            continue  # three steps of fp32 drift apart with the first flipped decision
        kind = "gradient" if key.endswith(".grad") else "updated" if key.endswith(".updated") else key
        error = 0.0 if key in zero else relative_error(load(path, key, precision), take(theirs, key, precision))
        if error >= worst.get(kind, (-1, ""))[0]:
            worst[kind] = (error, key)
    if missing:
        sys.exit(f"{name}: nothing was written for {', '.join(missing)}")
    ok = True
    for kind, (error, key) in sorted(worst.items()):
        limit = tolerances[kind]
        ok &= error <= limit
        print(f"{name:18} {precision} {kind:9} worst {error:.2e} (limit {limit:.0e}) at {key}")
    return ok


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onward", required=True)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    limits = {"fp64": dict.fromkeys(("logits", "loss", "gradient", "updated"), 1e-8),
              "fp32": {"logits": 1e-3, "loss": 1e-5, "gradient": 1e-2}}
    ok = True
    for name in args.models:
        with tempfile.TemporaryDirectory() as folder:
            expected, rounding = make_fixture(folder, name, args.batch_size, args.steps, args.lr, args.seed)
            for precision, tolerances in limits.items():
                out = os.path.join(folder, precision)
                onward_run(args.onward, folder, out, precision, args.steps, args.lr, args.devices)
                if precision == "fp32":
                    print(f"{name:18} fp32 gradient  PyTorch's own worst {rounding:.2e}")
                    floor = 1e-4 if name.startswith("smooth") else tolerances["gradient"]
                    tolerances = dict(tolerances, gradient=max(floor, 2 * rounding))
                ok &= compare(name, expected, out, precision, tolerances)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()

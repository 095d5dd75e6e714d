#!/usr/bin/env python3
"""Writes DIR/CASE/model.onnx for small networks in every form PyTorch's exporter has, with an input and PyTorch's result.

CASE says the form: opset, training (batch norm and dropout in training form) or evaluation, initializers listed as inputs.
input.npy and output.npy hold a batch and what the network gives for it in evaluation mode.
"""
import os
import sys
import warnings

import numpy as np
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4, eps=1e-3, momentum=0.3)
        self.drop, self.fc = nn.Dropout(0.4), nn.Linear(4, 5)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(y + self.bn2(self.conv2(y)))
        y = nn.functional.max_pool2d(y, 2)
        return self.fc(self.drop(torch.flatten(nn.functional.adaptive_avg_pool2d(y, 1), 1)))


def export(folder, opset, training, as_inputs):
    torch.manual_seed(1)
    net = Block()
    for _ in range(3):  # statistics that are not all zeros and ones
        net.train()(torch.randn(8, 3, 6, 6))
    x = torch.randn(2, 3, 6, 6)
    os.makedirs(folder)
    np.save(os.path.join(folder, "input.npy"), x.numpy())
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(net.train(training), x, os.path.join(folder, "model.onnx"), training=mode, opset_version=opset,
                      do_constant_folding=not training, keep_initializers_as_inputs=as_inputs, input_names=["input"],
                      output_names=["logits"], dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}})
    # Afterwards, because tracing in training form updates the statistics, and the file holds the updated ones.
    np.save(os.path.join(folder, "output.npy"), net.eval()(x).detach().numpy())


def main():
    warnings.simplefilter("ignore")
    for opset in (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17):
        for training in (False, True):
            if training and opset < 12:  # dropout in training form needs opset 12
                continue
            for as_inputs in (False, True):
                name = f"opset{opset}-{'training' if training else 'evaluation'}{'-inputs' if as_inputs else ''}"
                export(os.path.join(sys.argv[1], name), opset, training, as_inputs)


if __name__ == "__main__":
    main()

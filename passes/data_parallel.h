#pragma once
#include "passes/pass.h"

namespace onward {

// Decides the distribution of every value and reduces exactly the partial ones that reach an update or an output, each
// once: gradients in buckets, each as soon as its last member is made, and outputs (the metrics) in one last AllReduce
// per element type. It also makes the outputs "loss", "correct_top1" and "correct_top5" float64, for any number of
// replicas.
//
// All collectives of the program, those of batch norm included, get ids in the order of nodes, from 0: the order in
// which every replica issues them. The order follows from the forward graph and is the same for all batch sizes.
//
// Evaluation programs get no collective: their metrics stay sums over the replica's own rows. Programs that only
// accumulate get none but those of batch norm. With options.keep_gradients the complete gradients become outputs
// PARAMETER.grad. Ensures "distributed", which includes what check_reductions.h proves.
Pass data_parallel_pass();

}  // namespace onward

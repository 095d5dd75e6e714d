#pragma once
#include "graph/graph.h"

namespace onward {

// Whether the graph computes with the size of the batch itself: a Shape or Size node reads something made from a batch.
bool reads_batch_size(const Graph& graph);

// Constants that such nodes folded to are not what they seem once the batch is spread: found by comparing the graph
// with that of other rows. A number that grows in proportion to the rows is partial, because over all parts of the
// batch it adds up to that of the whole; a tensor with one row a sample, all rows alike (zeros to start from), is
// batch-split; one that depends on the rows in another way belongs to the part alone (local). Sets their distributions.
// Graphs that do not correspond are left alone.
void mark_batch_constants(Graph& graph, int64_t rows, const Graph& other, int64_t other_rows);

}  // namespace onward

#pragma once
#include "graph/graph.h"

namespace onward {

// The specialised graph of an empty share, from those of 2 and 3 rows. Shapes of zero rows cannot be inferred directly:
// a Reshape to [0,-1] of nothing fits any number. But every size is a linear function of the rows, so two graphs tell
// the third: dimensions, integer attributes and integer constants are extended from 2 and 3 to 0, and nothing else
// differs. Changes `two`, which becomes the result. Error(kModel) if the two graphs do not correspond.
void extrapolate_to_no_rows(Graph& two, const Graph& three);

}  // namespace onward

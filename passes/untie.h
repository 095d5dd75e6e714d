#pragma once
#include "passes/pass.h"

namespace onward {

// Exporters store equal tensors once, under one name or behind Identity: a fresh network would train with all its BatchNorm
// scales tied. A shared tensor of floats whose elements are all equal is taken for that and each reader gets its own
// copy, listed in context.untied; sharing of other tensors is taken for intended. Identity nodes of initializers go away.
Pass untie_pass();

}  // namespace onward

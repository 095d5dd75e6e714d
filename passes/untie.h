#pragma once
#include "passes/pass.h"

namespace onward {

// Exporters store equal tensors once, under one name or behind Identity: a fresh network would train with all its
// BatchNorm scales tied. A shared tensor of floats whose elements are all equal is taken for that and each reader gets
// its own copy: an Identity node becomes a tensor of its output's name, other copies are listed in context.untied.
// Sharing of other tensors is taken for intended, and all of it with options.keep_tied. Identity nodes of initializers
// go away.
Pass untie_pass();

// The tensors that programs of the model keep apart, for writing them into the file.
std::vector<UntiedTensor> untied_tensors(const Model& model, const Registry& registry = onward::registry());

}  // namespace onward

#pragma once
#include "passes/pass.h"

namespace onward {

// Spreads a step over several micro-batches. Every gradient has an accumulator, the state
// "onward.accumulated.<parameter>", and so has every metric output: "onward.accumulated.onward.loss", ... What is
// partial over the replicas is so in the accumulator too.
//   kAccumulateFirst   accumulator <- gradient
//   kAccumulateNext    accumulator <- accumulator + gradient
//   kTrainAccumulated  gradient := accumulator + gradient, which the step then reduces, once, and uses
// The outputs of kTrainAccumulated are therefore those of the whole step; those of the first two modes are the
// replica's own metrics of its micro-batch, and need no communication. Loss and gradients add up to those of the whole
// step because the loss denominator is that of all micro-batches. Other modes: nothing to do.
Pass accumulation_pass();

}  // namespace onward

#pragma once

namespace onward {

// Sets flush-to-zero and denormals-are-zero for the calling thread, where the processor has such modes.
void flush_denormals();

}  // namespace onward

#pragma once
#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "ops/core/window.h"

// What the kernels that call oneDNN share. The two generations of the library differ in how primitives are described;
// that part is in onednn_v2.cc or onednn_v3.cc, of which a build takes the one that fits. All tensors are float32.
namespace onward::onednn {

// One engine for the process.
const dnnl::engine& engine();

// Descriptors of a tensor in a layout of ours, and in whatever layout suits the primitive best.
dnnl::memory::desc row_major(const Shape& shape);
dnnl::memory::desc channels_last(const Shape& shape);
dnnl::memory::desc strided(const Shape& shape, const Shape& steps);
dnnl::memory::desc any_layout(const Shape& shape);

// ---- by generation. The scratchpad is the caller's (see Step).
dnnl::convolution_forward::primitive_desc convolution_forward(const Window& window, const dnnl::memory::desc& x,
                                                              const dnnl::memory::desc& w,
                                                              const dnnl::memory::desc* bias,
                                                              const dnnl::memory::desc& y);
dnnl::convolution_backward_data::primitive_desc convolution_grad_input(
    const Window& window, const dnnl::memory::desc& dx, const dnnl::memory::desc& w, const dnnl::memory::desc& dy,
    const dnnl::convolution_forward::primitive_desc& forward);
dnnl::convolution_backward_weights::primitive_desc convolution_grad_weight(
    const Window& window, const dnnl::memory::desc& x, const dnnl::memory::desc& dw, const dnnl::memory::desc& dy,
    const dnnl::convolution_forward::primitive_desc& forward);
// y = alpha * a * b, or y += alpha * a * b.
dnnl::matmul::primitive_desc matrix_product(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                            const dnnl::memory::desc& y, float alpha, bool accumulate);

// A primitive with its arguments, whose buffers are given at every run. Not for two threads at once.
class Step {
 public:
  struct Argument {
    int name;  // DNNL_ARG_...
    dnnl::memory::desc desc;
  };

  Step() = default;
  // `arguments` without the scratchpad.
  Step(const dnnl::primitive_desc_base& descriptor, const dnnl::primitive& primitive,
       const std::vector<Argument>& arguments);
  // A copy from one layout to another.
  static Step copy(const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  // Whether there is anything to run.
  explicit operator bool() const { return static_cast<bool>(primitive_); }
  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }
  // What the library says of itself: "brgconv:avx512_core".
  const std::string& implementation() const { return implementation_; }
  // Buffers in the order of the arguments; further ones are ignored. The calling thread's team does the work.
  void run(std::initializer_list<const void*> buffers, void* scratchpad);

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;  // the last is the scratchpad
  std::vector<dnnl_exec_arg_t> arguments_;
  std::size_t scratchpad_bytes_ = 0;
  std::string implementation_;
};

// Parts of a workspace, each on a 64-byte boundary.
class WorkspaceParts {
 public:
  // Returns the offset of a new part.
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

inline void* at(void* workspace, std::size_t offset) { return static_cast<char*>(workspace) + offset; }

// Runs `prepare` with the calling thread's team set to `threads`; the library's errors become Error(kRun) naming the
// node.
void prepare(const std::string& node, int threads, void (*body)(void*), void* state);
template <typename Body>
void prepare(const std::string& node, int threads, Body&& body) {
  prepare(
      node, threads, [](void* state) { (*static_cast<std::remove_reference_t<Body>*>(state))(); }, &body);
}

// For both generations of the library: scratch memory comes from the caller, and
dnnl::primitive_attr user_scratchpad();
// the gaps between window positions are counted: 0 where ONNX says 1.
dnnl::memory::dims gaps(const Window& window);

}  // namespace onward::onednn

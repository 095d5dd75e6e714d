#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace onward::cli {

// Writes named tensors into a folder as .npy, with a manifest. `/` in a name becomes `_` in the file's name.
class OutputFolder {
 public:
  // Makes the folder. Error(kUsage) if that fails.
  explicit OutputFolder(std::string path);
  // `kind`: output, loss, gradient, updated. `suffix` goes between the name and ".npy": ".grad", ".updated".
  void add(const std::string& name, const std::string& kind, const std::string& suffix, HostTensor tensor);
  // Writes everything and manifest.json: name, kind, file of each. Error(kRun) before anything is written if two names
  // make one file name.
  void write() const;

 private:
  struct Item {
    std::string name, kind, file;
    HostTensor tensor;
  };
  std::string path_;
  std::vector<Item> items_;
};

// Rows [first, first + count) of dimension 0.
HostTensor slice_rows(const HostTensor& tensor, int64_t first, int64_t count);
// The tensors one after the other along dimension 0.
HostTensor join_rows(const std::vector<HostTensor>& parts);

}  // namespace onward::cli

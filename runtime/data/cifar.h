#pragma once
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/data/file_set.h"

namespace onward {

// One of the four published forms of the CIFAR data sets (A. Krizhevsky, "Learning multiple layers of features from
// tiny images", 2009; https://www.cs.toronto.edu/~kriz/cifar.html).
struct CifarForm {
  DatasetKind kind;
  bool pickled;         // Python's form; otherwise binary records
  const char* folder;   // where the archive's files lie
  const char* archive;  // the archive's name
  std::vector<std::string> train;
  std::vector<std::string> test;
  std::string meta;  // class names; may be missing

  const std::vector<std::string>& files(Split split) const { return split == Split::kTrain ? train : test; }
  // Every file of a split and the class names.
  std::vector<std::string> wanted(Split split) const;
};

const std::vector<CifarForm>& cifar_forms();

// Reads a split. Error(kData) as open_dataset says.
Dataset read_cifar(FileSet& files, const CifarForm& form, Split split);

}  // namespace onward

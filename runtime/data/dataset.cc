#include "runtime/data/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "graph/error.h"
#include "runtime/data/cifar.h"
#include "runtime/data/file_set.h"
#include "runtime/data/idx.h"
#include "runtime/data/synthetic.h"

namespace onward {

namespace {

namespace fs = std::filesystem;

struct KindName {
  DatasetKind kind;
  const char* name;
};
constexpr KindName kKinds[] = {{DatasetKind::kAuto, "auto"},
                               {DatasetKind::kCifar10, "cifar10"},
                               {DatasetKind::kCifar100, "cifar100"},
                               {DatasetKind::kMnist, "mnist"},
                               {DatasetKind::kSynthetic, "synthetic"}};

const char* kind_name(DatasetKind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }

// A place where a data set's files were found: a folder, or an archive of a CIFAR form.
struct Found {
  DatasetKind kind;
  const CifarForm* form = nullptr;  // none for MNIST
  fs::path path;
  bool archive = false;
};

bool wants(DatasetKind asked, DatasetKind kind) { return asked == DatasetKind::kAuto || asked == kind; }

// The folders, relative to the one given, that may hold the MNIST family's files: torchvision's among them.
constexpr const char* kMnistFolders[] = {"", "raw", "MNIST/raw", "FashionMNIST/raw"};

bool holds_any(const FileSet& files, const CifarForm& form) {
  const auto in_set = [&](const std::string& name) { return files.contains(name); };
  return std::any_of(form.train.begin(), form.train.end(), in_set) ||
         std::any_of(form.test.begin(), form.test.end(), in_set);
}

void look_for_form(const fs::path& path, const CifarForm& form, std::vector<Found>& found) {
  for (const fs::path& folder : {path, path / form.folder}) {
    if (holds_any(FileSet::folder(folder), form)) found.push_back({form.kind, &form, folder});
  }
  std::error_code error;
  if (fs::is_regular_file(path / form.archive, error)) found.push_back({form.kind, &form, path / form.archive, true});
}

std::vector<Found> look_in(const fs::path& path, DatasetKind asked) {
  std::vector<Found> found;
  for (const CifarForm& form : cifar_forms()) {
    if (wants(asked, form.kind)) look_for_form(path, form, found);
  }
  if (wants(asked, DatasetKind::kMnist)) {
    for (const char* folder : kMnistFolders) {
      if (has_idx_files(path / folder)) found.push_back({DatasetKind::kMnist, nullptr, path / folder});
    }
  }
  return found;
}

// What look_in looks for, for messages.
std::vector<std::string> places(DatasetKind asked, Split split) {
  std::vector<std::string> names;
  for (const CifarForm& form : cifar_forms()) {
    if (!wants(asked, form.kind)) continue;
    const std::string file = form.files(split)[0];
    names.push_back(file);
    names.push_back(fmt::format("{}/{}", form.folder, file));
    names.push_back(form.archive);
  }
  if (wants(asked, DatasetKind::kMnist))
    names.push_back(fmt::format("{}-images-idx3-ubyte[.gz] (also in raw, MNIST/raw, FashionMNIST/raw)",
                                split == Split::kTrain ? "train" : "t10k"));
  return names;
}

Dataset read_archive(const fs::path& path, DatasetKind asked, Split split) {
  std::vector<std::string> wanted;
  for (const CifarForm& form : cifar_forms()) {
    for (const std::string& name : form.wanted(split)) wanted.push_back(name);
  }
  FileSet files = FileSet::archive(path, wanted);
  for (const CifarForm& form : cifar_forms()) {
    if (wants(asked, form.kind) && holds_any(files, form)) return read_cifar(files, form, split);
  }
  std::vector<std::string> names;
  for (const CifarForm& form : cifar_forms()) {
    if (wants(asked, form.kind)) names.push_back(form.files(split)[0]);
  }
  throw Error(ErrorKind::kData,
              fmt::format("expected the {} split of a {} data set in the archive {}, found none of its files ({})",
                          split_name(split), asked == DatasetKind::kAuto ? "CIFAR" : kind_name(asked), path.string(),
                          fmt::join(names, ", ")));
}

Dataset read_folder(const fs::path& path, DatasetKind asked, Split split) {
  const std::vector<Found> found = look_in(path, asked);
  if (found.empty()) {
    throw Error(ErrorKind::kData, fmt::format("expected a data set in {}, found none of: {}; give the folder or "
                                              "archive that holds one, or --dataset synthetic",
                                              path.string(), fmt::join(places(asked, split), ", ")));
  }
  for (const Found& other : found) {
    if (other.kind != found[0].kind) {
      throw Error(
          ErrorKind::kData,
          fmt::format("expected one data set in {}, found {} ({}) and {} ({}); choose with --dataset", path.string(),
                      kind_name(found[0].kind), found[0].path.string(), kind_name(other.kind), other.path.string()));
    }
  }
  const Found& first = found[0];
  if (!first.form) return read_idx(first.path, split);
  FileSet files = first.archive ? FileSet::archive(first.path, first.form->wanted(split)) : FileSet::folder(first.path);
  return read_cifar(files, *first.form, split);
}

void check_label(int64_t label, int64_t classes, int64_t sample, const int64_t* ignored) {
  if ((label >= 0 && label < classes) || (ignored && label == *ignored)) return;
  throw Error(ErrorKind::kData, fmt::format("expected a label in 0..{} for sample {}, found {} with {} classes; the "
                                            "model's outputs and the data set must have "
                                            "the same number of classes",
                                            classes - 1, sample, label, classes));
}

}  // namespace

DatasetKind parse_dataset_kind(std::string_view text) {
  for (const KindName& known : kKinds) {
    if (text == known.name) return known.kind;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("expected a data set auto, cifar10, cifar100, mnist or synthetic, found '{}'", text));
}

const char* split_name(Split split) { return split == Split::kTrain ? "train" : "test"; }

std::string ImageShape::text() const { return fmt::format("{}x{}x{}", channels, height, width); }

Dataset open_dataset(const std::string& path, DatasetKind kind, Split split, const SyntheticOptions& synthetic) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (kind == DatasetKind::kSynthetic || (kind == DatasetKind::kAuto && !fs::exists(status) && names_synthetic(path))) {
    return make_synthetic(parse_synthetic(path, synthetic), split);
  }
  if (!fs::exists(status)) {
    throw Error(ErrorKind::kData, fmt::format("expected a data set at {}, found no such file or folder; give the "
                                              "folder or archive that holds one of: {}; or "
                                              "--dataset synthetic",
                                              path, fmt::join(places(kind, split), ", ")));
  }
  if (fs::is_directory(status)) return read_folder(path, kind, split);
  if (kind == DatasetKind::kMnist) {
    throw Error(
        ErrorKind::kData,
        fmt::format("expected a folder with the MNIST family's files, found the file {}; give its folder", path));
  }
  return read_archive(path, kind, split);
}

void check_labels(std::span<const int64_t> labels, int64_t classes, std::span<const int64_t> samples,
                  const int64_t* ignored) {
  for (std::size_t i = 0; i < labels.size(); ++i) check_label(labels[i], classes, samples[i], ignored);
}

void check_labels(std::span<const int64_t> labels, int64_t classes, int64_t first_sample, const int64_t* ignored) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    check_label(labels[i], classes, first_sample + static_cast<int64_t>(i), ignored);
}

}  // namespace onward

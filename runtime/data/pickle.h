#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace onward {

struct PickleObject;

// One value of a pickle. Text points into the pickle's bytes, objects into its reader.
struct PickleValue {
  enum class Kind : uint8_t { kNone, kBool, kInt, kText, kObject };
  Kind kind = Kind::kNone;
  int64_t number = 0;              // kBool, kInt
  std::string_view text;           // kText: str or bytes
  PickleObject* object = nullptr;  // kObject
};

struct PickleObject {
  enum class Kind : uint8_t { kList, kTuple, kDict, kGlobal, kType, kArray };
  Kind kind = Kind::kList;
  std::vector<PickleValue> items;                                 // list, tuple
  std::vector<std::pair<std::string_view, PickleValue>> entries;  // dict
  std::string_view name;                                          // global: "numpy ndarray"
  std::vector<int64_t> shape;                                     // array of uint8
  std::string_view data;                                          // array: its elements
  bool column_major = false;                                      // array: NumPy's is_fortran
};

// Reads the pickles in which the CIFAR data sets are published (protocol 2, written by Python 2 and NumPy) and nothing
// more: dictionaries with text keys, lists, tuples, text, integers, and uint8 arrays made by
// numpy.core.multiarray._reconstruct, numpy.ndarray and numpy.dtype. Every other opcode or global is refused, so
// nothing is ever executed; every length is checked against the bytes present and the number of values is bounded, so
// that no input makes it misbehave. Formats: CPython Lib/pickletools.py; NumPy ndarray.__reduce__ and
// ndarray.__setstate__.
class PickleReader {
 public:
  // `file` names the pickle in errors. `bytes` must outlive the reader. Error(kData) as above.
  PickleReader(std::span<const uint8_t> bytes, std::string file);
  PickleReader(const PickleReader&) = delete;
  PickleReader& operator=(const PickleReader&) = delete;

  // What the pickle's dictionary holds under `key`. Error(kData) if it is missing or of another type.
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  // A uint8 array of two dimensions.
  const PickleObject& matrix(std::string_view key) const;
  bool contains(std::string_view key) const;

 private:
  void run();
  void step(uint8_t opcode);
  void count_value();
  void push(PickleValue value);
  void push_mark();
  void push_number(int64_t value) { push({PickleValue::Kind::kInt, value}); }
  void push_bool(bool value) { push({PickleValue::Kind::kBool, value}); }
  void push_text(uint64_t length);
  void push_object(PickleObject object);
  void push_global();
  PickleValue pop();
  PickleObject& top_object(PickleObject::Kind kind, const char* what);
  std::vector<PickleValue> pop_to_mark();
  std::vector<PickleValue> pop_last(std::size_t count);
  void append(std::vector<PickleValue> values);
  void set_items(std::vector<PickleValue> values);
  void memoize(uint32_t index);
  void recall(uint32_t index);
  void reduce();
  void build();
  void build_array(PickleObject& array, const PickleValue& state);

  std::string_view take(uint64_t length);
  std::string_view take_line();
  uint64_t take_unsigned(int bytes);
  const PickleValue& lookup(std::string_view key) const;
  [[noreturn]] void fail(const std::string& found) const;

  std::span<const uint8_t> bytes_;
  std::string file_;
  std::size_t position_ = 0;
  std::size_t pushed_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<uint32_t, PickleValue> memo_;
  std::deque<PickleObject> objects_;
  const PickleObject* root_ = nullptr;
};

}  // namespace onward

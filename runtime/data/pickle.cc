#include "runtime/data/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/error.h"

namespace onward {

namespace {

using Value = PickleValue;
using Object = PickleObject;

// The largest published pickle, CIFAR-100's training file, pushes about 160,000 values. The bound keeps a small hostile
// file from filling the memory.
constexpr std::size_t kMostValues = 1'000'000;

constexpr std::string_view kReconstruct = "numpy.core.multiarray _reconstruct";
constexpr std::string_view kArrayType = "numpy ndarray";
constexpr std::string_view kElementType = "numpy dtype";

bool is_object(const Value& value, Object::Kind kind) {
  return value.kind == Value::Kind::kObject && value.object->kind == kind;
}
bool is_global(const Value& value, std::string_view name) {
  return is_object(value, Object::Kind::kGlobal) && value.object->name == name;
}
bool is_number(const Value& value) { return value.kind == Value::Kind::kInt || value.kind == Value::Kind::kBool; }

}  // namespace

PickleReader::PickleReader(std::span<const uint8_t> bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {
  run();
}

void PickleReader::run() {
  while (true) {
    const auto opcode = static_cast<uint8_t>(take(1)[0]);
    if (opcode == '.') break;
    step(opcode);
  }
  const Value result = pop();
  if (!stack_.empty() || !marks_.empty()) fail("values left over at its end");
  if (!is_object(result, Object::Kind::kDict)) fail("something else than a dictionary");
  if (position_ != bytes_.size()) {
    fail(fmt::format("its end there but {} bytes in all: {} too many", bytes_.size(), bytes_.size() - position_));
  }
  root_ = result.object;
}

void PickleReader::step(uint8_t opcode) {
  switch (opcode) {
    case 0x80: {  // PROTO
      const uint64_t protocol = take_unsigned(1);
      if (protocol != 2) fail(fmt::format("protocol {}", protocol));
      break;
    }
    case '}': push_object({Object::Kind::kDict}); break;                   // EMPTY_DICT
    case ']': push_object({Object::Kind::kList}); break;                   // EMPTY_LIST
    case '(': push_mark(); break;                                          // MARK
    case 'N': push({}); break;                                             // NONE
    case 0x88: push_bool(true); break;                                     // NEWTRUE
    case 0x89: push_bool(false); break;                                    // NEWFALSE
    case 'K': push_number(static_cast<int64_t>(take_unsigned(1))); break;  // BININT1
    case 'M': push_number(static_cast<int64_t>(take_unsigned(2))); break;  // BININT2
    case 'J': push_number(static_cast<int32_t>(take_unsigned(4))); break;  // BININT
    case 'U': push_text(take_unsigned(1)); break;                          // SHORT_BINSTRING
    case 'T': push_text(take_unsigned(4)); break;                          // BINSTRING
    case 'X': push_text(take_unsigned(4)); break;                          // BINUNICODE
    case 'q': memoize(static_cast<uint32_t>(take_unsigned(1))); break;     // BINPUT
    case 'r': memoize(static_cast<uint32_t>(take_unsigned(4))); break;     // LONG_BINPUT
    case 'h': recall(static_cast<uint32_t>(take_unsigned(1))); break;      // BINGET
    case 'j': recall(static_cast<uint32_t>(take_unsigned(4))); break;      // LONG_BINGET
    case 'a': append(pop_last(1)); break;                                  // APPEND
    case 'e': append(pop_to_mark()); break;                                // APPENDS
    case 's': set_items(pop_last(2)); break;                               // SETITEM
    case 'u': set_items(pop_to_mark()); break;                             // SETITEMS
    case 't': push_object({Object::Kind::kTuple, pop_to_mark()}); break;   // TUPLE
    case 0x85: push_object({Object::Kind::kTuple, pop_last(1)}); break;    // TUPLE1
    case 0x86: push_object({Object::Kind::kTuple, pop_last(2)}); break;    // TUPLE2
    case 0x87: push_object({Object::Kind::kTuple, pop_last(3)}); break;    // TUPLE3
    case 'c': push_global(); break;                                        // GLOBAL
    case 'R': reduce(); break;                                             // REDUCE
    case 'b': build(); break;                                              // BUILD
    default: fail(fmt::format("opcode 0x{:02x}, which those files do not use", opcode));
  }
}

void PickleReader::count_value() {
  if (++pushed_ > kMostValues) fail(fmt::format("more than {} values", kMostValues));
}

void PickleReader::push(Value value) {
  count_value();
  stack_.push_back(value);
}

void PickleReader::push_mark() {
  count_value();
  marks_.push_back(stack_.size());
}

void PickleReader::push_text(uint64_t length) { push({Value::Kind::kText, 0, take(length)}); }

void PickleReader::push_object(Object object) {
  objects_.push_back(std::move(object));
  push({Value::Kind::kObject, 0, {}, &objects_.back()});
}

void PickleReader::push_global() {
  const std::string_view module = take_line();
  const std::string_view name = take_line();
  for (const std::string_view known : {kReconstruct, kArrayType, kElementType}) {
    if (known.size() == module.size() + 1 + name.size() && known.starts_with(module) && known.ends_with(name)) {
      Object object{Object::Kind::kGlobal};
      object.name = known;
      return push_object(std::move(object));
    }
  }
  fail(fmt::format("the global {}.{}, which those files do not use; it is not run", module.substr(0, 80),
                   name.substr(0, 80)));
}

Value PickleReader::pop() {
  if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) fail("an opcode without its operand");
  const Value value = stack_.back();
  stack_.pop_back();
  return value;
}

std::vector<Value> PickleReader::pop_last(std::size_t count) {
  std::vector<Value> values(count);
  for (std::size_t i = count; i-- > 0;) values[i] = pop();
  return values;
}

std::vector<Value> PickleReader::pop_to_mark() {
  if (marks_.empty()) fail("an opcode without its mark");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Value> values(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return values;
}

Object& PickleReader::top_object(Object::Kind kind, const char* what) {
  const Value value = pop();
  if (!is_object(value, kind)) fail(fmt::format("no {} where one is filled", what));
  stack_.push_back(value);
  return *value.object;
}

void PickleReader::append(std::vector<Value> values) {
  std::vector<Value>& items = top_object(Object::Kind::kList, "list").items;
  items.insert(items.end(), values.begin(), values.end());
}

void PickleReader::set_items(std::vector<Value> values) {
  Object& dict = top_object(Object::Kind::kDict, "dictionary");
  if (values.size() % 2) fail("a dictionary key without its value");
  for (std::size_t i = 0; i < values.size(); i += 2) {
    if (values[i].kind != Value::Kind::kText) fail("a dictionary key that is not text");
    dict.entries.emplace_back(values[i].text, values[i + 1]);
  }
}

void PickleReader::memoize(uint32_t index) {
  const Value value = pop();
  stack_.push_back(value);
  memo_[index] = value;
}

void PickleReader::recall(uint32_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) fail(fmt::format("a reference to entry {}, which was not stored", index));
  push(found->second);
}

// The two calls that a NumPy array's pickle makes: _reconstruct(ndarray, (0,), 'b') and dtype('u1', 0, 1).
void PickleReader::reduce() {
  const Value arguments = pop();
  const Value callee = pop();
  if (!is_object(arguments, Object::Kind::kTuple)) fail("call arguments that are not a tuple");
  const std::vector<Value>& items = arguments.object->items;
  if (is_global(callee, kReconstruct)) {
    if (items.size() != 3 || !is_global(items[0], kArrayType)) fail("an array of another class than numpy.ndarray");
    return push_object({Object::Kind::kArray});
  }
  if (is_global(callee, kElementType)) {
    if (items.empty() || items[0].kind != Value::Kind::kText || (items[0].text != "u1" && items[0].text != "|u1")) {
      fail("an array whose elements are not uint8");
    }
    return push_object({Object::Kind::kType});
  }
  fail("a call of something that cannot be called");
}

void PickleReader::build() {
  const Value state = pop();
  const Value target = pop();
  if (!is_object(state, Object::Kind::kTuple)) fail("a state that is not a tuple");
  if (is_object(target, Object::Kind::kArray)) {
    build_array(*target.object, state);
  } else if (!is_object(target,
                        Object::Kind::kType)) {  // a uint8 type's state (byte order, alignment) says nothing more
    fail("a state for something that has none");
  }
  stack_.push_back(target);
}

// (version, shape, dtype, is_fortran, data)
void PickleReader::build_array(Object& array, const Value& state) {
  const std::vector<Value>& parts = state.object->items;
  if (parts.size() != 5 || !is_object(parts[1], Object::Kind::kTuple) || !is_object(parts[2], Object::Kind::kType) ||
      !is_number(parts[3]) || parts[4].kind != Value::Kind::kText) {
    fail("an array state of another form than (version, shape, dtype, order, data)");
  }
  uint64_t count = 1;
  array.shape.clear();
  for (const Value& dimension : parts[1].object->items) {
    if (!is_number(dimension) || dimension.number < 0) fail("an array dimension that is not a number");
    const auto size = static_cast<uint64_t>(dimension.number);
    if (size && count > std::numeric_limits<uint64_t>::max() / size) fail("an array too large to be true");
    count *= size;
    array.shape.push_back(dimension.number);
  }
  if (count != parts[4].text.size())
    fail(fmt::format("an array of {} elements with {} bytes", count, parts[4].text.size()));
  array.data = parts[4].text;
  array.column_major = parts[3].number != 0;
}

std::string_view PickleReader::take(uint64_t length) {
  if (length > bytes_.size() - position_) {
    throw Error(
        ErrorKind::kData,
        fmt::format("expected at least {} bytes in {}, found {}: the pickle is cut short at byte {}; fetch it again",
                    position_ + length, file_, bytes_.size(), position_));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + position_,
                              static_cast<std::size_t>(length));
  position_ += length;
  return text;
}

std::string_view PickleReader::take_line() {
  const auto rest = bytes_.subspan(position_);
  const auto end = std::find(rest.begin(), rest.end(), '\n');
  if (end == rest.end()) take(rest.size() + 1);
  const std::string_view line = take(static_cast<uint64_t>(end - rest.begin()));
  take(1);
  return line;
}

uint64_t PickleReader::take_unsigned(int bytes) {
  uint64_t value = 0;
  const std::string_view text = take(static_cast<uint64_t>(bytes));
  for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<uint8_t>(text[static_cast<std::size_t>(i)]);
  return value;
}

bool PickleReader::contains(std::string_view key) const {
  return std::any_of(root_->entries.begin(), root_->entries.end(),
                     [&](const auto& entry) { return entry.first == key; });
}

const Value& PickleReader::lookup(std::string_view key) const {
  const auto found = std::find_if(root_->entries.rbegin(), root_->entries.rend(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (found == root_->entries.rend()) {
    throw Error(ErrorKind::kData, fmt::format("expected '{}' in {}, found no such entry", key, file_));
  }
  return found->second;
}

std::vector<int64_t> PickleReader::integers(std::string_view key) const {
  const Value& list = lookup(key);
  std::vector<int64_t> numbers;
  bool good = is_object(list, Object::Kind::kList);
  if (good) {
    for (const Value& item : list.object->items) {
      good = good && item.kind == Value::Kind::kInt;
      numbers.push_back(item.number);
    }
  }
  if (!good)
    throw Error(ErrorKind::kData,
                fmt::format("expected a list of integers as '{}' in {}, found something else", key, file_));
  return numbers;
}

std::vector<std::string> PickleReader::texts(std::string_view key) const {
  const Value& list = lookup(key);
  std::vector<std::string> texts;
  bool good = is_object(list, Object::Kind::kList);
  if (good) {
    for (const Value& item : list.object->items) {
      good = good && item.kind == Value::Kind::kText;
      texts.emplace_back(item.text);
    }
  }
  if (!good)
    throw Error(ErrorKind::kData,
                fmt::format("expected a list of text as '{}' in {}, found something else", key, file_));
  return texts;
}

const Object& PickleReader::matrix(std::string_view key) const {
  const Value& value = lookup(key);
  if (!is_object(value, Object::Kind::kArray) || value.object->shape.size() != 2) {
    throw Error(
        ErrorKind::kData,
        fmt::format("expected a uint8 array of two dimensions as '{}' in {}, found something else", key, file_));
  }
  return *value.object;
}

void PickleReader::fail(const std::string& found) const {
  throw Error(ErrorKind::kData,
              fmt::format("expected a pickle as CIFAR's Python files are published in {}, found {} (before byte {})",
                          file_, found, position_));
}

}  // namespace onward

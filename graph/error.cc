#include "graph/error.h"

#include <utility>

namespace onward {

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)), text_(message_) {}

Error& Error::note(std::string_view note) {
  notes_.emplace_back(note);
  text_ += "\n  ";
  text_ += note;
  return *this;
}

}  // namespace onward

#pragma once
#include <cstdint>
#include <type_traits>

namespace onward {

// Makes the calling thread a compute thread with a team of `threads`: sets the team's size and, in every member,
// flush-to-zero and denormals-are-zero (denormals cost up to 160x).
void prepare_compute_thread(int threads);

// Size of the calling thread's team.
int team_size();

// Sets the size of the calling thread's team for as long as it lives: libraries with teams of their own take that size
// when their work is prepared and when it runs, and the two must agree.
class TeamSizeScope {
 public:
  explicit TeamSizeScope(int threads);
  ~TeamSizeScope();
  TeamSizeScope(const TeamSizeScope&) = delete;
  TeamSizeScope& operator=(const TeamSizeScope&) = delete;

 private:
  int before_;
};

namespace detail {
void run_parts(int64_t parts, void (*body)(void*, int64_t), void* state);
}

// Calls body(begin, end) over [0, count), cut into at most team_size() ranges of at least `grain` items each. The cut
// depends only on count, grain and team size, so results repeat.
template <typename Body>
void parallel_for(int64_t count, int64_t grain, Body&& body) {
  if (count <= 0) return;
  const int64_t most = (count + grain - 1) / (grain > 0 ? grain : 1);
  const int64_t parts = most < team_size() ? most : team_size();
  if (parts <= 1) {
    body(int64_t{0}, count);
    return;
  }
  struct State {
    std::remove_reference_t<Body>& body;
    int64_t count, parts;
  } state{body, count, parts};
  detail::run_parts(
      parts,
      [](void* s, int64_t part) {
        State& st = *static_cast<State*>(s);
        st.body(st.count * part / st.parts, st.count * (part + 1) / st.parts);
      },
      &state);
}

}  // namespace onward

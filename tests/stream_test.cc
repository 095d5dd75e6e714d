#include "runtime/stream.h"

#include <atomic>
#include <thread>

namespace onward::test {
namespace {

TEST(Stream, RunsItsQueueInOrder) {
  std::vector<int> order;
  Stream stream({.name = "test", .delays = {.seed = 3, .max_microseconds = 50}});
  for (int i = 0; i < 100; ++i) stream.enqueue([&order, i] { order.push_back(i); });
  stream.synchronise();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(Stream, RunsWhatIsQueuedBeforeItEnds) {
  std::atomic<int> count{0};
  {
    Stream stream({.name = "test"});
    for (int i = 0; i < 10; ++i) stream.enqueue([&] { ++count; });
  }
  EXPECT_EQ(count, 10);
}

TEST(Event, OrdersTwoStreams) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Stream a({.name = "a", .delays = {seed, 100}}), b({.name = "b", .delays = {seed + 1, 100}});
    Event event;
    int value = 0;
    a.enqueue([&] { value = 7; });
    a.record(event);
    b.wait(event);
    int seen = -1;
    b.enqueue([&] { seen = value; });
    b.synchronise();
    EXPECT_EQ(seen, 7);
  }
}

TEST(Event, NeverRecordedIsComplete) {
  Event event;
  event.synchronise();
  Stream stream({.name = "test"});
  stream.wait(event);
  stream.synchronise();
}

TEST(Event, WaitingMeansTheRecordingBeforeTheCall) {
  Stream a({.name = "a"}), b({.name = "b"});
  Event event;
  a.record(event);
  b.wait(event);  // the first recording
  Event gate;
  const uint64_t opened = gate.announce();
  a.enqueue([&] { gate.wait(opened); });
  a.record(event);  // held back by the gate
  b.synchronise();  // would wait for ever for the second
  gate.complete(opened);
  event.synchronise();
}

TEST(Event, CarriesErrorsToWhoeverWaits) {
  Stream a({.name = "a"}), b({.name = "b"});
  Event event;
  bool ran_behind = false, ran_there = false;
  a.enqueue([] { throw Error(ErrorKind::kData, "broken"); });
  a.enqueue([&] { ran_behind = true; });
  a.record(event);
  b.wait(event);
  b.enqueue([&] { ran_there = true; });
  for (Stream* stream : {&a, &b}) {
    try {
      stream->synchronise();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_EQ(error.message(), "broken");
    }
  }
  EXPECT_FALSE(ran_behind);
  EXPECT_FALSE(ran_there);
  EXPECT_THROW(event.synchronise(), Error);
  a.record(event);  // the error was reported: the stream goes on
  event.synchronise();
  a.synchronise();
}

TEST(Event, OtherExceptionsBecomeErrors) {
  Stream stream({.name = "test"});
  stream.enqueue([] { throw std::bad_alloc(); });
  try {
    stream.synchronise();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("out of memory"));
  }
}

}  // namespace
}  // namespace onward::test

// SPDX-License-Identifier: Apache-2.0
// A program with regions for the tests: it counts and times them itself, from within and from outside, and prints that.
//   regions work THREADS ROUNDS   each thread does this number of rounds; then it prints its log and waits for the end of its input
//   regions stay                  a thread enters `stays` and never leaves; it prints a line when it is in there
//   regions hot TIMES             `hot` TIMES times; prints the CPU time, ns
//   regions pushing TIMES         the same of `pushing`
//   regions deep DEPTH TIMES      `dig` calls itself DEPTH times, and there `hot` TIMES times; then `hot` is called once more
//   regions names TIMES           `hot` TIMES times, each under another name of the process
#include <sys/prctl.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Log {
  int64_t calls = 0, inner_ns = 0, outer_ns = 0, bytes = 0;
};
std::mutex mutex;
std::map<std::string, Log> logs;

int64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

volatile uint64_t sum;
void work_for(int64_t ns) {
  for (const int64_t until = now() + ns; now() < until;) sum = sum * 3 + 1;
}

thread_local std::map<std::string, Log> own;

// From within a region: a span of it is as long, and no longer than the time measured around the call.
class Inner {
 public:
  explicit Inner(const char *name) : log_(own[name]), begin_(now()) {}
  ~Inner() { log_.inner_ns += now() - begin_; }

 private:
  Log &log_;
  int64_t begin_;
};

template <class Call>
void measured(const char *name, int64_t bytes, const Call &call) {
  Log &log = own[name];
  const int64_t begin = now();
  call();
  log.outer_ns += now() - begin;
  ++log.calls;
  log.bytes += bytes;
}

}  // namespace

extern "C" {

__attribute__((noinline)) void fill_buffer() {
  const Inner inner("fill");
  work_for(100'000);
}

// Its second argument is how many bytes it is about.
__attribute__((noinline)) uint64_t parse_file(const char *name, uint64_t bytes) {
  const Inner inner("parse");
  measured("fill", 0, [] { fill_buffer(); });
  work_for(bytes * 100);
  return bytes - (name == nullptr ? 1 : 0);
}

// Calls itself: the outermost call is the region's run.
__attribute__((noinline)) int walk_tree(int depth) {
  const Inner inner(depth == 4 ? "walk" : "walk inner");
  work_for(20'000);
  int left = depth;
  if (depth > 0) left = walk_tree(depth - 1) + 1;
  sum = sum + static_cast<uint64_t>(left);
  return left;
}

// A separate region, between two calls.
__attribute__((noinline)) void load_begins() {
  sum = sum + 1;
}
__attribute__((noinline)) void load_ends() {
  sum = sum + 2;
}

// Is left without a return.
__attribute__((noinline)) void jumps_out(std::jmp_buf &to) {
  sum = sum + 3;
  std::longjmp(to, 1);  // NOLINT(cert-err52-cpp): the test needs it
}

__attribute__((noinline)) void stays() {
  std::puts("there");
  std::fflush(stdout);
  for (;;) ::pause();
}

// Its first instruction reads memory: a processor has to step over it when a probe is there.
__attribute__((noinline)) void hot() {
  sum = sum + 4;
}

__attribute__((noinline)) void dig(int depth, int times) {
  if (depth > 1) dig(depth - 1, times);
  for (int i = 0; depth <= 1 && i < times; ++i) hot();
  sum = sum + 5;
}

// Keeps its argument over a call, so it begins by pushing a register, which a kernel does by itself when a probe is there.
__attribute__((noinline)) uint64_t pushing(uint64_t value) {
  load_begins();
  return value + sum;
}
}

namespace shapes {
struct Shape {
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): with a class's name in its own
  __attribute__((noinline, used)) int area(int side) {
    const Inner inner("area");
    work_for(50'000);
    return side * side;
  }
  __attribute__((noinline, used)) int twice(int value) { return value + value; }
  __attribute__((noinline, used)) long twice(long value) { return value + value; }
};
}  // namespace shapes

namespace {

void jump() {
  std::jmp_buf back;
  if (setjmp(back) == 0) jumps_out(back);  // NOLINT(cert-err52-cpp)
}

void round(int number) {
  const uint64_t bytes = 1000 + static_cast<uint64_t>(number % 7) * 100;
  measured("parse", static_cast<int64_t>(bytes), [bytes] { sum = sum + parse_file("a", bytes); });
  measured("walk", 0, [] { walk_tree(4); });
  measured("area", 0, [number] {
    shapes::Shape shape;
    sum = sum + static_cast<uint64_t>(shape.area(number) + shape.twice(number)) + static_cast<uint64_t>(shape.twice(long{number}));
  });
  measured("load", 0, [] {
    load_begins();
    {
      const Inner inner("load");
      work_for(30'000);
    }
    load_ends();
  });
  measured("jump", 0, [] { jump(); });
}

void work(int rounds) {
  for (int i = 0; i < rounds; ++i) round(i);
  const std::lock_guard lock(mutex);
  for (const auto &[name, log] : own) {
    Log &all = logs[name];
    all.calls += log.calls;
    all.inner_ns += log.inner_ns;
    all.outer_ns += log.outer_ns;
    all.bytes += log.bytes;
  }
}

template <class Call>
void time_of(int64_t times, const Call &call) {
  const int64_t begin = now(CLOCK_THREAD_CPUTIME_ID);
  for (int64_t i = 0; i < times; ++i) call();
  std::printf("%lld\n", static_cast<long long>(now(CLOCK_THREAD_CPUTIME_ID) - begin));
}

void change_names(int times) {
  for (int i = 0; i < times; ++i) {
    ::prctl(PR_SET_NAME, ("n" + std::to_string(i)).c_str());
    hot();
  }
}

void print() {
  std::printf("{");
  const char *comma = "";
  for (const auto &[name, log] : logs) {
    std::printf("%s\"%s\": {\"calls\": %lld, \"inner\": %lld, \"outer\": %lld, \"bytes\": %lld}", comma, name.c_str(),
                static_cast<long long>(log.calls), static_cast<long long>(log.inner_ns), static_cast<long long>(log.outer_ns),
                static_cast<long long>(log.bytes));
    comma = ", ";
  }
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "stay") {
    std::thread thread(stays);
    thread.join();
  } else if (mode == "hot" && argc > 2) {
    time_of(std::atoll(argv[2]), hot);
  } else if (mode == "pushing" && argc > 2) {
    time_of(std::atoll(argv[2]), [] { sum = sum + pushing(1); });
  } else if (mode == "names" && argc > 2) {
    change_names(std::atoi(argv[2]));
  } else if (mode == "deep" && argc > 3) {
    dig(std::atoi(argv[2]), std::atoi(argv[3]));
    hot();
  } else if (mode == "work" && argc > 3) {
    std::vector<std::thread> threads;
    const int count = std::atoi(argv[2]), rounds = std::atoi(argv[3]);
    threads.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) threads.emplace_back(work, rounds);
    for (std::thread &thread : threads) thread.join();
    print();
    std::fgetc(stdin);
  } else {
    return 2;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Dumps of JDK 21 and later, where threads carry virtual threads; and for random dumps: never more CPU time than the process took.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "plugins/sources/jvm/profile/profile.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kMilli = 1'000'000;

constexpr const char *kCarrier = R"(	at jdk.internal.vm.Continuation.run(java.base@25.0.3/Continuation.java:254)
	at java.lang.VirtualThread.runContinuation(java.base@25.0.3/VirtualThread.java:297)
	at java.util.concurrent.ForkJoinWorkerThread.run(java.base@25.0.3/ForkJoinWorkerThread.java:187)
)";
constexpr const char *kMounted = R"(	at Spin.burn(Spin.java:4)
	at Spin.lambda$main$0(Spin.java:6)
	at java.lang.VirtualThread.run(java.base@25.0.3/VirtualThread.java:460)
	at jdk.internal.vm.Continuation.enter(java.base@25.0.3/Continuation.java:316)
)";

// As JDK 21 and 25 write it.
std::string carrying(const std::string &cpu, const std::string &virtual_thread) {
  return "\"ForkJoinPool-1-worker-1\" #18 [11590] daemon prio=5 os_prio=0 cpu=" + cpu +
         "ms elapsed=3.04s tid=0x00007f9a6009d930  [0x00007f9a6528f000]\n   Carrying virtual thread #" + virtual_thread + "\n" +
         kCarrier + "   Mounted virtual thread #" + virtual_thread + "\n" + kMounted + "\n";
}
std::string idle(const std::string &cpu) {
  return "\"ForkJoinPool-1-worker-1\" #18 [11590] daemon prio=5 os_prio=0 cpu=" + cpu +
         "ms elapsed=3.88s tid=0x00007f9a6009d930 nid=11590 waiting on condition  [0x00007f9a65190000]\n"
         "   java.lang.Thread.State: WAITING (parking)\n"
         "\tat jdk.internal.misc.Unsafe.park(java.base@25.0.3/Native Method)\n"
         "\tat java.util.concurrent.ForkJoinWorkerThread.run(java.base@25.0.3/ForkJoinWorkerThread.java:187)\n\n";
}

uint64_t seed() {
  const char *text = std::getenv("ATALAYA_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device()();
}

// A JVM of which everything is known: threads that run, start, end and carry virtual threads, and work of the JVM itself.
class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 5; ++i) start();
  }

  int below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  void run() {
    if (below(4) == 0) start();
    if (below(6) == 0 && threads_.size() > 1) threads_.erase(threads_.begin());
    for (Thread &thread : threads_) {
      const int64_t ns = below(3) == 0 ? 0 : below(1000) * int64_t{10'000};  // dumps have two decimals of a millisecond
      thread.cpu_ns += ns;
      process_ns += ns;
    }
    process_ns += below(1000) * int64_t{1000};
  }
  // `factor` above 1: the JVM reports time that it did not take.
  std::string dump(int factor) {
    std::string text;
    for (const Thread &thread : threads_) {
      const int64_t cpu = thread.cpu_ns * factor;
      const std::string ms =
          std::to_string(cpu / kMilli) + "." + std::to_string(cpu / 100'000 % 10) + std::to_string(cpu / 10'000 % 10);
      const std::string header = "\"w\" #" + std::to_string(thread.number) + " [7] prio=5 cpu=" + ms +
                                 "ms elapsed=1.00s tid=0x7f0" + std::to_string(thread.number % 3);  // addresses are reused
      if (below(2) == 0)
        text += header + "  [0x1]\n   Carrying virtual thread #9\n" + kCarrier + "   Mounted virtual thread #9\n" + kMounted + "\n";
      else
        text += header + " nid=" + std::to_string(below(2)) +
                " runnable\n   java.lang.Thread.State: " + (below(2) == 0 ? "RUNNABLE\n" : "WAITING (parking)\n") + kMounted + "\n";
    }
    return text;
  }
  // The time that dumps can show: of threads that live now, since `before`.
  int64_t shown_since(const std::map<int, int64_t> &before) const {
    int64_t sum = 0;
    for (const Thread &thread : threads_) {
      const auto known = before.find(thread.number);
      sum += thread.cpu_ns - (known == before.end() ? 0 : known->second);
    }
    return sum;
  }
  std::map<int, int64_t> times() const {
    std::map<int, int64_t> times;
    for (const Thread &thread : threads_) times[thread.number] = thread.cpu_ns;
    return times;
  }

  int64_t process_ns = 1'000'000'000;

 private:
  struct Thread {
    int number = 0;
    int64_t cpu_ns = 0;
  };
  void start() { threads_.push_back({++last_number_, 0}); }

  std::mt19937_64 random_;
  int last_number_ = 0;
  std::vector<Thread> threads_;
};

int64_t attributed(const Profile::Window &window) {
  return window.tree.on_cpu().ns + window.tree.unseen().ns;
}

}  // namespace

TEST_CASE("a thread keeps its identity while it carries a virtual thread, whose stack is the carrier's") {
  Profile profile(false);
  profile.add(idle("900.00"), 0);
  profile.add(carrying("917.58", "19"), 100 * kMilli);
  profile.add(idle("917.60"), 200 * kMilli);
  profile.add(carrying("930.00", "22"), 300 * kMilli);
  const auto window = profile.end_window({});
  CHECK(window.cpu_ns == 30 * kMilli);
  CHECK(window.tree.unseen().ns == 0);
  const auto functions = window.tree.functions(10);
  REQUIRE(functions.size() == 1);
  CHECK(functions[0].name == "Spin burn");
  CHECK(functions[0].self.ns == 30 * kMilli);
  CHECK(functions[0].stack.starts_with("jdk.internal.vm.Continuation enter (Continuation.java:316);java.lang.VirtualThread run"));
}

TEST_CASE("a carrier without a mounted stack has its own") {
  Profile profile(false);
  const auto dump = [](const std::string &cpu) {
    return "\"c\" #18 [1] prio=5 cpu=" + cpu + "ms tid=0x1  [0x1]\n   Carrying virtual thread #19\n" + kCarrier + "\n";
  };
  profile.add(dump("1.00"), 0);
  profile.add(dump("5.00"), 100 * kMilli);
  CHECK(profile.end_window({}).tree.functions(1).at(0).name == "jdk.internal.vm.Continuation run");
}

TEST_CASE("of a true JVM all time is attributed, of a false one at most that of the process, whatever the dumps") {
  const uint64_t start = seed();
  for (uint64_t round = 0; round < 300; ++round) {
    CAPTURE(start + round);
    Model jvm(start + round);
    const int factor = 1 + static_cast<int>(round % 3);
    Profile profile(false);
    int64_t expected = 0, shown = 0, attributed_ns = 0, excess = 0;
    const int64_t begin = jvm.process_ns;
    int64_t last_begin = begin;
    std::map<int, int64_t> before;
    for (int i = 0; i < 50; ++i) {
      const int64_t before_dump = jvm.process_ns;
      const std::string dump = jvm.dump(factor);
      if (i > 0) expected += jvm.shown_since(before);
      before = jvm.times();
      jvm.run();  // it runs while it answers
      profile.add(dump, i * 10 * kMilli, ProcessCpu{before_dump, jvm.process_ns});
      if (jvm.below(3) == 0) jvm.run();
      const auto window = profile.end_window({});
      CHECK(window.cpu_ns.value_or(0) <= jvm.process_ns - last_begin);
      last_begin = before_dump;
      shown += window.cpu_ns.value_or(0);
      attributed_ns += attributed(window);
      excess += window.excess_ns;
      CHECK(shown <= jvm.process_ns - begin);
      CHECK(attributed_ns <= shown);
    }
    profile.interrupt();
    CHECK(attributed_ns + attributed(profile.end_window({})) == shown);
    if (factor == 1) CHECK(shown == expected);
    CHECK(shown + excess == expected * factor);
  }
}

TEST_CASE("before JDK 11, running threads share the time of the process") {
  Profile profile(false);
  std::string dump;
  for (int i = 1; i <= 4; ++i)
    dump += "\"t\" #" + std::to_string(i) + " prio=5 tid=0x" + std::to_string(i) +
            " nid=0x1 runnable\n   java.lang.Thread.State: RUNNABLE\n\tat a.B.work" + std::to_string(i) + "(B.java:1)\n\n";
  profile.add(dump, 0, ProcessCpu{0, 0});
  profile.add(dump, 100 * kMilli, ProcessCpu{200 * kMilli, 200 * kMilli});
  const auto functions = profile.end_window({}).tree.functions(10);
  REQUIRE(functions.size() == 4);
  for (const FunctionTime &function : functions) CHECK(function.self.ns == 50 * kMilli);
}

TEST_CASE("an amount refers to the time between the dumps, if that is longer than the window") {
  Profile profile(false);
  profile.add(idle("0.00"), 0);
  CHECK(profile.end_window({}).span_ns(5000 * kMilli) == 5000 * kMilli);
  profile.add(idle("12000.00"), 30'000 * kMilli);
  const auto window = profile.end_window({});
  CHECK(window.cpu_ns == 12'000 * kMilli);
  CHECK(window.span_ns(5000 * kMilli) == 30'000 * kMilli);
}

}  // namespace atalaya::jvm

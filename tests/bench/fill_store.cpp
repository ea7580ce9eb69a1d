// SPDX-License-Identifier: Apache-2.0
// Stores for commands that read one, larger than a machine can record at once:
//   fill_store jvms STORE COUNT     COUNT JVMs as the source jvm reports them by default, ten a host: two minutes, windows of 5 s
//   fill_store stacks STORE COUNT [HOSTS]   COUNT different stacks, in turn of one process of each host (default: 1), each in three
//                                           windows of 5 s
// The last window ends at a full minute before now. Writes a line of JSON: {"begin": Unix s, "end": Unix s, "samples": N}.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "plugins/shared/store/sqlite/writer.h"

using namespace atalaya;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kWindow = 5 * kSecond;
constexpr int kJvmWindows = 24, kStackWindows = 3;
constexpr size_t kJvmsAHost = 10;
// Of a JVM in a window: functions with an exemplar, and other stacks.
constexpr size_t kFunctions = 32, kStacks = 20;
constexpr size_t kFunctionsOfAProgram = 200, kPrograms = 10, kDepth = 24;
constexpr std::array kFields = {"jvm.heap.used",
                                "jvm.heap.capacity",
                                "jvm.heap.eden.used",
                                "jvm.heap.eden.capacity",
                                "jvm.heap.survivor0.used",
                                "jvm.heap.survivor0.capacity",
                                "jvm.heap.survivor1.used",
                                "jvm.heap.survivor1.capacity",
                                "jvm.heap.old.used",
                                "jvm.heap.old.capacity",
                                "jvm.heap.metaspace.used",
                                "jvm.heap.metaspace.capacity",
                                "jvm.gc.young.count",
                                "jvm.gc.young.seconds",
                                "jvm.gc.young.collections",
                                "jvm.gc.young.time",
                                "jvm.gc.seconds",
                                "jvm.gc.time",
                                "jvm.safepoint.count",
                                "jvm.safepoint.events",
                                "jvm.safepoint.time",
                                "jvm.safepoint.sync",
                                "jvm.threads.live",
                                "jvm.threads.daemon",
                                "jvm.threads.started",
                                "jvm.classes.loaded",
                                "jvm.compile.count",
                                "jvm.compile.time",
                                "jvm.profile.rate",
                                "jvm.profile.cost",
                                "jvm.profile.cpu"};

class Filler {
 public:
  explicit Filler(const char *path) : writer_({path, {}, false}, [this](uint32_t id) { return symbols_.name(id); }) {}

  // One batch for all that `fill` adds.
  template <class Fill>
  void batch(int64_t end_ns, Fill &&fill) {
    core::Batch batch;
    batch_ = &batch;
    end_ns_ = end_ns;
    fill();
    writer_.write({batch.raw().samples, batch.raw().count}, end_ns);
    samples_ += batch.count();
  }
  using Tag = std::pair<std::string_view, std::string_view>;
  atalaya_sample &add(uint32_t kind, std::initializer_list<Tag> tags, std::string_view text = {}) {
    atalaya_sample &sample = batch_->add_sample(kind);
    sample.time_ns = end_ns_;
    sample.duration_ns = kWindow;
    if (!text.empty()) sample.text = batch_->copy(text);
    for (const auto &[key, value] : tags) batch_->add_tag(sample, symbols_.intern(key), value);
    return sample;
  }
  void field(atalaya_sample &sample, std::string_view name, double value) {
    atalaya_field field{symbols_.intern(name), ATALAYA_F64, {}};
    field.value.f64 = value;
    batch_->add_field(sample, field);
  }
  void count(atalaya_sample &sample, std::string_view name, int64_t value) {
    atalaya_field field{symbols_.intern(name), ATALAYA_I64, {}};
    field.value.i64 = value;
    batch_->add_field(sample, field);
  }
  uint64_t samples() const { return samples_; }

 private:
  core::Symbols symbols_;
  store::Writer writer_;
  core::Batch *batch_ = nullptr;
  int64_t end_ns_ = 0;
  uint64_t samples_ = 0;
};

std::string function_of(size_t program, size_t number) {
  return "org.example.program" + std::to_string(program) + ".Class" + std::to_string(number / 5) + " method" +
         std::to_string(number);
}
std::string frame_of(size_t program, size_t number) {
  return "org.example.program" + std::to_string(program) + ".Class" + std::to_string(number / 5) + ".method" +
         std::to_string(number);
}
// A way down to a function: the same for the same `way`.
std::string stack_of(size_t program, size_t function, size_t way, std::string_view suffix) {
  std::minstd_rand random(static_cast<unsigned>(way % 50 + 1));
  std::string folded = "java.lang.Thread.run" + std::string(suffix);
  for (size_t i = 0; i < kDepth; ++i) folded += ';' + frame_of(program, random() % kFunctionsOfAProgram) + std::string(suffix);
  return folded + ';' + frame_of(program, function) + std::string(suffix);
}

void add_jvm(Filler &filler, size_t number, std::mt19937 &random) {
  const size_t program = number % kPrograms;
  const std::string host = "node" + std::to_string(number / kJvmsAHost), pid = std::to_string(1000 + number % kJvmsAHost),
                    process = "program" + std::to_string(program);
  atalaya_sample &counters = filler.add(ATALAYA_METRICS, {{"host", host}, {"pid", pid}, {"process", process}});
  for (const char *name : kFields) filler.field(counters, name, static_cast<double>(random() % 10'000) / 100);
  for (size_t i = 0; i < kFunctions; ++i) {
    // Some functions are in all windows of a JVM, others come and go.
    const size_t function = i < kFunctions / 2 ? i : random() % kFunctionsOfAProgram;
    const std::string name = function_of(program, function);
    const auto ns = static_cast<int64_t>(random() % 100'000'000);
    atalaya_sample &self = filler.add(ATALAYA_METRICS, {{"host", host}, {"pid", pid}, {"process", process}, {"function", name}});
    filler.field(self, "jvm.function.self", static_cast<double>(ns) / 5e9);
    atalaya_sample &exemplar = filler.add(
        ATALAYA_STACK,
        {{"host", host}, {"pid", pid}, {"process", process}, {"function", name}, {"profile", "exemplar"}, {"bias", "safepoint"}},
        stack_of(program, function, function, " (Class.java:7)"));
    filler.count(exemplar, "profile.samples", 1);
    filler.count(exemplar, "profile.ns", ns);
  }
  for (size_t i = 0; i < kStacks; ++i) {
    const size_t function = random() % kFunctionsOfAProgram;
    atalaya_sample &stack =
        filler.add(ATALAYA_STACK, {{"host", host}, {"pid", pid}, {"process", process}, {"profile", "wall"}, {"bias", "safepoint"}},
                   stack_of(program, function, random(), "_[j]"));
    filler.count(stack, "profile.samples", 1);
    filler.count(stack, "profile.ns", static_cast<int64_t>(random() % 100'000'000));
  }
}

void jvms(Filler &filler, size_t count, int64_t first_ns) {
  std::mt19937 random(1);
  for (int window = 0; window < kJvmWindows; ++window)
    for (size_t begin = 0; begin < count; begin += kJvmsAHost)
      filler.batch(first_ns + window * kWindow, [&] {
        for (size_t i = begin; i < std::min(count, begin + kJvmsAHost); ++i) add_jvm(filler, i, random);
      });
}

void stacks(Filler &filler, size_t count, size_t hosts, int64_t first_ns) {
  for (int window = 0; window < kStackWindows; ++window)
    filler.batch(first_ns + window * kWindow, [&] {
      for (size_t i = 0; i < count; ++i) {
        const std::string host = std::to_string(i % hosts);
        std::string folded = "main" + host;
        // It branches at each third frame.
        for (size_t depth = 0, rest = i / hosts; depth < kDepth; rest = ++depth % 3 == 0 ? rest / 5 : rest)
          folded += ";frame" + std::to_string(depth) + '_' + std::to_string(rest % 5);
        filler.count(filler.add(ATALAYA_STACK,
                                {{"host", "node" + host}, {"pid", "1000"}, {"process", "program"}, {"profile", "cpu"}}, folded),
                     "profile.samples", static_cast<int64_t>(i % 7 + 1));
      }
    });
}

}  // namespace

int main(int count, char **arguments) {
  const std::string_view mode = count >= 4 ? arguments[1] : "";
  if (mode != "jvms" && mode != "stacks") {
    std::fprintf(stderr, "usage: fill_store jvms STORE COUNT | stacks STORE COUNT [HOSTS]\n");
    return 2;
  }
  try {
    const int64_t end_s = static_cast<int64_t>(std::time(nullptr)) / 60 * 60;
    const int64_t begin_s = end_s - kWindow / kSecond * (mode == "jvms" ? kJvmWindows : kStackWindows);
    Filler filler(arguments[2]);
    const size_t number = std::stoul(arguments[3]);
    const int64_t first_ns = begin_s * kSecond + kWindow;
    if (mode == "jvms")
      jvms(filler, number, first_ns);
    else
      stacks(filler, number, count > 4 ? std::stoul(arguments[4]) : 1, first_ns);
    std::printf("{\"begin\": %lld, \"end\": %lld, \"samples\": %llu}\n", static_cast<long long>(begin_s),
                static_cast<long long>(end_s), static_cast<unsigned long long>(filler.samples()));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "fill_store: %s\n", error.what());
    return 1;
  }
}

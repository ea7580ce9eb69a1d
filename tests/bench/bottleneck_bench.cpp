// SPDX-License-Identifier: Apache-2.0
// A store with the spans of one large job: bottleneck_bench.py runs `atalaya bottleneck` on it.
//   bottleneck_bench STORE TASKS PHASES STAGES NODES   each task with PHASES phases (up to 5); one node spills slowly
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "plugins/shared/store/sqlite/writer.h"

using namespace atalaya;

namespace {

constexpr int64_t kSecond = 1'000'000'000, kBegin = 1'700'000'000 * kSecond;
constexpr size_t kBatch = 2000, kSlow = 77;
constexpr std::array<const char *, 5> kPhases = {"read", "map", "collect", "spill", "merge"};

class Job {
 public:
  Job(const char *path, size_t tasks, size_t phases, size_t stages, size_t nodes)
      : tasks_(tasks), phases_(phases), stages_(stages), nodes_(nodes), writer_({path, {}, false}, [this](uint32_t id) {
          return symbols_.name(id);
        }) {}

  void write() {
    for (size_t i = 0; i < tasks_; ++i) {
      add_task(i);
      if (batch_.count() >= kBatch) flush();
    }
    flush();
  }

 private:
  void add_task(size_t number) {
    const size_t node = number % nodes_;
    const std::string host = "node" + std::to_string(node);
    const int64_t start =
        kBegin + static_cast<int64_t>(number / nodes_) * 10 * kSecond + static_cast<int64_t>(number % nodes_) * 1'000'000;
    char id[64];
    std::snprintf(id, sizeof id, "task_1526555215992_0001_m_%06zu", number);
    std::snprintf(attempt_, sizeof attempt_, "attempt_1526555215992_0001_m_%06zu_0", number);
    stage_ = stages_ == 1 ? "map" : std::to_string(number * stages_ / tasks_);
    int64_t at = start;
    for (size_t phase = 0; phase < phases_; ++phase) {
      const bool is_slow = node == kSlow % nodes_ && phase == 3;
      const auto length = static_cast<int64_t>(factors_(random_) * (is_slow ? 2e9 : 1e9));
      add_span("phase", at, length, id, host, kPhases[phase]);
      at += length;
    }
    if (phases_ == 0) at += static_cast<int64_t>(factors_(random_) * (node == kSlow % nodes_ ? 10e9 : 5e9));
    add_span("task", start, at - start, id, host, "");
  }

  void add_span(const char *level, int64_t start, int64_t length, const char *task, const std::string &host, const char *phase) {
    atalaya_sample &sample = batch_.add_sample(ATALAYA_SPAN);
    sample.time_ns = start;
    sample.duration_ns = length;
    sample.text = batch_.copy(level);
    const auto tag = [&](const char *key, std::string_view value) { batch_.add_tag(sample, symbols_.intern(key), value); };
    tag("job", "job_1526555215992_0001");
    tag("framework", "hadoop");
    tag("stage", stage_);
    tag("task", task);
    tag("attempt", attempt_);
    tag("host", host);
    if (*phase != '\0') tag("phase", phase);
    const auto field = [&](const char *name, int64_t value) {
      atalaya_field one{symbols_.intern(name), ATALAYA_I64, {}};
      one.value.i64 = value;
      batch_.add_field(sample, one);
    };
    field("span.bytes", 128 << 20);
    if (*phase == '\0') field("span.outcome", 0);
  }

  void flush() {
    writer_.write({batch_.raw().samples, batch_.raw().count}, kBegin);
    batch_.clear();
  }

  size_t tasks_, phases_, stages_, nodes_;
  std::string stage_;
  char attempt_[64] = {};
  core::Symbols symbols_;
  core::Batch batch_;
  store::Writer writer_;
  std::mt19937_64 random_{1};
  std::lognormal_distribution<double> factors_{0, 0.1};
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: bottleneck_bench STORE TASKS PHASES STAGES NODES\n");
    return 2;
  }
  const auto number = [&](int place) { return std::strtoull(argv[place], nullptr, 10); };
  Job(argv[1], number(2), number(3), number(4), number(5)).write();
  return 0;
}

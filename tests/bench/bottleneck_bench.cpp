// SPDX-License-Identifier: Apache-2.0
// A store with the spans of one large job: bottleneck_bench.py asks `atalaya bottleneck` about it.
//   bottleneck_bench STORE TASKS PHASES   tasks on a thousand nodes, each with so many phases (up to 5); one node spills slowly
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "core/sample/batch.h"
#include "core/sample/symbols.h"
#include "plugins/store/writer.h"

using namespace atalaya;

namespace {

constexpr int64_t kSecond = 1'000'000'000, kBegin = 1'700'000'000 * kSecond;
constexpr size_t kNodes = 1000, kBatch = 2000, kSlow = 77;
constexpr std::array<const char *, 5> kPhases = {"read", "map", "collect", "spill", "merge"};

class Job {
 public:
  Job(const char *path, size_t tasks, size_t phases)
      : tasks_(tasks), phases_(phases), writer_({path, {}, false}, [this](uint32_t id) { return symbols_.name(id); }) {}

  void write() {
    for (size_t i = 0; i < tasks_; ++i) {
      add_task(i);
      if (batch_.count() >= kBatch) flush();
    }
    flush();
  }

 private:
  void add_task(size_t number) {
    const size_t node = number % kNodes;
    const std::string host = "node" + std::to_string(node);
    const int64_t start =
        kBegin + static_cast<int64_t>(number / kNodes) * 10 * kSecond + static_cast<int64_t>(number % kNodes) * 1'000'000;
    char id[64];
    std::snprintf(id, sizeof id, "task_1526555215992_0001_m_%06zu", number);
    std::snprintf(attempt_, sizeof attempt_, "attempt_1526555215992_0001_m_%06zu_0", number);
    int64_t at = start;
    for (size_t phase = 0; phase < phases_; ++phase) {
      const bool is_slow = node == kSlow && phase == 3;
      const auto length = static_cast<int64_t>(factors_(random_) * (is_slow ? 2e9 : 1e9));
      add_span("phase", at, length, id, host, kPhases[phase]);
      at += length;
    }
    if (phases_ == 0) at += static_cast<int64_t>(factors_(random_) * (node == kSlow ? 10e9 : 5e9));
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
    tag("stage", "map");
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

  size_t tasks_, phases_;
  char attempt_[64] = {};
  core::Symbols symbols_;
  core::Batch batch_;
  store::Writer writer_;
  std::mt19937_64 random_{1};
  std::lognormal_distribution<double> factors_{0, 0.1};
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bottleneck_bench STORE TASKS PHASES\n");
    return 2;
  }
  Job(argv[1], std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10)).write();
  return 0;
}

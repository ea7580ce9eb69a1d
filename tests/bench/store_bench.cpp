// SPDX-License-Identifier: Apache-2.0
// Cost of the embedded store: store_bench.py starts this and victoria-metrics, and prints both.
//   store_bench replay RECORDING STORE LINES
//     the samples of a store (their rows) into a new one; the same as lines for a peer
//   store_bench day STORE LINES [HOURS [N [SERIES]]]
//     200 series at 1 s into a new store, one window or N a batch; the same as lines
//   store_bench import STORE
//     such a day, a series a batch
//   store_bench scan STORE [HOURS]
//     sums of ten minutes over all series of these hours
//   store_bench many STORE
//     a million entities: cost of a limited query
//   store_bench count STORE [SECONDS]
//     samples and points that are rows (of the last ten minutes, all), of windows of SECONDS or of all
//   store_bench rollup STORE SECONDS
//     all packed points to steps of SECONDS
// Figures go to standard output as one JSON object. CPU time of one thread: it is all that works.
#include <ctime>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "core/base/text/json.h"
#include "plugins/shared/store/sqlite/names/entities.h"
#include "plugins/shared/store/sqlite/rows/block.h"
#include "plugins/shared/store/sqlite/sqlite_store.h"
#include "plugins/shared/store/sqlite/writer.h"

using namespace atalaya;
using namespace atalaya::store;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kBucket = 600 * kSecond;
constexpr size_t kSeries = 200;

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
double wall_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The influx line protocol, a line a sample.
class Lines {
 public:
  explicit Lines(const char *path) : out_(path, std::ios::binary) {}
  void add(const atalaya_sample &sample, core::Symbols &symbols) {
    line_ = "m";
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      line_ += ',';
      line_ += symbols.name(sample.tags[i].key);
      line_ += '=';
      for (const char c : std::string_view(sample.tags[i].value.data, sample.tags[i].value.size)) {
        if (c == ' ' || c == ',' || c == '=' || c == '\\') line_ += '\\';
        line_ += c == '\n' ? ' ' : c;
      }
    }
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      line_ += i == 0 ? ' ' : ',';
      line_ += symbols.name(sample.fields[i].name);
      line_ += '=';
      if (sample.fields[i].type == ATALAYA_I64) {
        core::append_integer(line_, sample.fields[i].value.i64);
        line_ += 'i';
      } else {
        core::append_real(line_, sample.fields[i].value.f64);
      }
    }
    line_ += ' ';
    core::append_integer(line_, sample.time_ns);
    line_ += '\n';
    out_ << line_;
  }

 private:
  std::ofstream out_;
  std::string line_;
};

int64_t used_bytes(const std::string &path) {
  Database database(path, Access::read_only);
  return (database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")) * database.number("PRAGMA page_size");
}

// The store under test, and its cost.
class Target {
 public:
  Target(const char *path, core::Symbols &symbols, const Limits &limits = {})
      : writer_({path, limits, false}, [&symbols](uint32_t id) { return symbols.name(id); }), path_(path) {}

  void write(const core::Batch &batch, int64_t now_ns) {
    for (uint64_t i = 0; i < batch.raw().count; ++i) points_ += batch.raw().samples[i].field_count;
    const double before = cpu_seconds();
    writer_.write({batch.raw().samples, batch.raw().count}, now_ns);
    written_ += cpu_seconds() - before;
    measure([&] { writer_.maintain_when_due(now_ns); });
  }
  // All that is whole is packed.
  void finish(int64_t now_ns) {
    for (int i = 0; i < 40; ++i) writer_.write({}, now_ns);
    while (maintain(now_ns + 2 * kDay)) {
    }
  }
  void print(int64_t bytes_before = 0) {
    Database database(path_, Access::read_only);
    const int64_t bytes = used_bytes(path_);
    std::sort(steps_.begin(), steps_.end());
    std::printf(
        "{\"points\": %lld, \"entities\": %lld, \"write_s\": %.4f, \"maintain_s\": %.4f, \"step_p99_ms\": %.2f, \"step_max_ms\": "
        "%.2f, "
        "\"bytes\": %lld, \"bytes_before\": %lld}\n",
        static_cast<long long>(points_), static_cast<long long>(database.number("SELECT count(*) FROM entities")), written_,
        maintained_, steps_[steps_.size() * 99 / 100] * 1e3, steps_.back() * 1e3, static_cast<long long>(bytes),
        static_cast<long long>(bytes_before));
  }

 private:
  template <class Step>
  void measure(Step &&step) {
    const double before = cpu_seconds();
    step();
    steps_.push_back(cpu_seconds() - before);
    maintained_ += steps_.back();
  }
  bool maintain(int64_t now_ns) {
    bool more = false;
    measure([&] { more = writer_.maintain(now_ns); });
    return more;
  }

  Writer writer_;
  std::string path_;
  int64_t points_ = 0;
  double written_ = 0, maintained_ = 0;
  std::vector<double> steps_;
};

void add_sample(core::Batch &batch, core::Symbols &symbols, int64_t time_ns, int64_t duration_ns, const Tags &tags) {
  atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
  sample.time_ns = time_ns;
  sample.duration_ns = duration_ns;
  for (const auto &[key, value] : tags) batch.add_tag(sample, symbols.intern(key), value);
}

void add_field(core::Batch &batch, uint32_t name, const Number &value) {
  atalaya_field field{name, value.is_count ? uint32_t{ATALAYA_I64} : uint32_t{ATALAYA_F64}, {}};
  if (value.is_count) {
    field.value.i64 = value.count;
  } else {
    field.value.f64 = value.real;
  }
  batch.add_field(batch.raw().samples[batch.count() - 1], field);
}

void replay(const char *recording, const char *path, const char *lines_path) {
  {
    const Writer brings_it_up_to_date({recording, {}, false}, [](uint32_t) { return std::string_view{}; });
  }
  Database source(recording, Access::read_only);
  core::Symbols symbols;
  std::vector<uint32_t> names;
  Statement(source, "SELECT id, name FROM metrics").each([&](const Row &row) {
    names.resize(std::max(names.size(), static_cast<size_t>(row.integer(0)) + 1));
    names[static_cast<size_t>(row.integer(0))] = symbols.intern(row.text(1));
  });
  const Entities entities = find_entities(source, {});
  Target target(path, symbols);
  Lines lines(lines_path);
  auto batch = std::make_unique<core::Batch>();
  int64_t time_ns = 0;
  const auto flush = [&] {
    for (uint64_t i = 0; i < batch->raw().count; ++i) lines.add(batch->raw().samples[i], symbols);
    if (batch->count() > 0) target.write(*batch, time_ns);
    batch = std::make_unique<core::Batch>();
  };
  Statement(source,
            "SELECT w.time_ns, w.duration_ns, s.fields FROM windows w CROSS JOIN samples s ON s.window = w.id WHERE w.packed = 0 "
            "ORDER BY 1, 2")
      .each([&](const Row &row) {
        if (row.integer(0) != time_ns) flush();
        time_ns = row.integer(0);
        for (BlockReader samples(row.text(2)); samples.next();) {
          add_sample(*batch, symbols, time_ns, row.integer(1), entities.at(samples.entity()).tags);
          for (FieldReader fields(samples.fields()); fields.next();)
            add_field(*batch, names.at(static_cast<size_t>(fields.metric())), fields.value());
        }
      });
  flush();
  target.finish(time_ns);
  target.print();
}

int64_t day_begin() {
  const int64_t now_ns = static_cast<int64_t>(std::time(nullptr)) * kSecond;
  return now_ns / kDay * kDay - 2 * kDay;
}

// Processes that are idle for a while and then busy, in hundredths of a per cent.
class Processes {
 public:
  explicit Processes(size_t count = kSeries) : levels_(count) {}
  Tags tags(size_t i) const {
    return {{"host", "bench"}, {"process", "process" + std::to_string(i / 5)}, {"pid", std::to_string(1000 + i)}};
  }
  Number next(size_t i) {
    double &level = levels_.at(i);
    if (random_() % 300 == 0) level = random_() % 3 == 0 ? static_cast<double>(random_() % 100) : 0;
    Number value;
    value.real = level == 0 ? 0 : std::round((level + static_cast<double>(random_() % 200) / 100) * 100) / 100;
    return value;
  }

 private:
  std::mt19937 random_{1};
  std::vector<double> levels_;
};

void day(const char *path, const char *lines_path, int64_t length_ns, int64_t windows_a_batch, size_t series) {
  core::Symbols symbols;
  const uint32_t name = symbols.intern("proc.cpu.user");
  Target target(path, symbols);
  Lines lines(lines_path);
  Processes processes(series);
  const int64_t begin_ns = day_begin();
  auto batch = std::make_unique<core::Batch>();
  for (int64_t second = 1; second <= length_ns / kSecond; ++second) {
    const int64_t time_ns = begin_ns + second * kSecond;
    for (size_t i = 0; i < series; ++i) {
      add_sample(*batch, symbols, time_ns, kSecond, processes.tags(i));
      add_field(*batch, name, processes.next(i));
      lines.add(batch->raw().samples[batch->count() - 1], symbols);
    }
    if (second % windows_a_batch != 0) continue;
    target.write(*batch, time_ns);
    batch = std::make_unique<core::Batch>();
  }
  target.finish(begin_ns + length_ns);
  target.print();
}

void import(const char *path) {
  core::Symbols symbols;
  const uint32_t name = symbols.intern("proc.cpu.user");
  Target target(path, symbols);
  Processes processes;
  const int64_t begin_ns = day_begin();
  for (size_t i = 0; i < kSeries; ++i) {
    core::Batch batch;
    for (int64_t second = 1; second <= kDay / kSecond; ++second) {
      add_sample(batch, symbols, begin_ns + second * kSecond, kSecond, processes.tags(i));
      add_field(batch, name, processes.next(i));
    }
    target.write(batch, begin_ns + kDay);
  }
  target.finish(begin_ns + kDay);
  target.print();
}

void roll_up(const char *path, int64_t every_s) {
  core::Symbols symbols;
  const int64_t before = used_bytes(path);
  Target target(path, symbols, {.rollup = {{kDay, every_s * kSecond, {}}}});
  target.finish(static_cast<int64_t>(std::time(nullptr)) * kSecond + 30 * kDay);
  target.print(before);
}

// The query of a day: a sum in each ten minutes over all series.
class Buckets final : public PointVisitor {
 public:
  Buckets(int64_t begin_ns, bool use_summaries) : begin_ns_(begin_ns), use_summaries_(use_summaries), sums_(kDay / kBucket + 1) {}
  bool take(size_t, const Summary &summary) override {
    if (!use_summaries_ || bucket_of(summary.first_ns) != bucket_of(summary.last_ns)) return false;
    sums_[bucket_of(summary.first_ns)] += summary.sum;
    return true;
  }
  void points(size_t, const Points &points) override {
    for (size_t i = 0; i < points.values.size();) {
      const size_t bucket = bucket_of(points.times_ns[i]);
      const int64_t end_ns = begin_ns_ + (static_cast<int64_t>(bucket) + 1) * kBucket;
      double sum = 0;
      for (; i < points.values.size() && points.times_ns[i] <= end_ns; ++i) sum += points.values[i];
      sums_[bucket] += sum;
    }
  }
  void rolled(size_t, const Summary &summary, const Points &plain) override {
    sums_[bucket_of(plain.times_ns.front())] += summary.sum;
  }
  double total() const {
    double total = 0;
    for (const double sum : sums_) total += sum;
    return total;
  }

 private:
  size_t bucket_of(int64_t time_ns) const { return static_cast<size_t>((time_ns - 1 - begin_ns_) / kBucket); }
  int64_t begin_ns_;
  bool use_summaries_;
  std::vector<double> sums_;
};

void scan(const char *path, int64_t length_ns) {
  SqliteStore store(path);
  const int64_t begin_ns = day_begin();
  const Range range{begin_ns, begin_ns + length_ns};
  std::string figures;
  double total = 0;
  for (const bool use_summaries : {true, false}) {
    std::vector<double> times, cpu;
    for (int round = 0; round < 5; ++round) {
      const double before = wall_seconds(), cpu_before = cpu_seconds();
      const auto series = store.series({{"proc.cpu.user"}, {}, range}, SIZE_MAX);
      Buckets buckets(begin_ns, use_summaries);
      store.scan(series, range, buckets);
      times.push_back((wall_seconds() - before) * 1e3);
      cpu.push_back((cpu_seconds() - cpu_before) * 1e3);
      if (series.size() != kSeries) throw std::runtime_error("series are missing");
      total = buckets.total();
    }
    std::sort(times.begin(), times.end());
    std::sort(cpu.begin(), cpu.end());
    const std::string name = use_summaries ? "{\"summaries_" : ", \"points_";
    figures += name + "ms\": " + std::to_string(times[times.size() / 2]) + ", \"" + (use_summaries ? "summaries_" : "points_") +
               "cpu_ms\": " + std::to_string(cpu[cpu.size() / 2]);
  }
  std::printf("%s, \"begin\": %lld, \"total\": %.2f}\n", figures.c_str(), static_cast<long long>(begin_ns / kSecond), total);
}

void many(const char *path) {
  constexpr int kEntities = 1'000'000, kBatch = 10'000, kLimit = 10'000;
  {
    core::Symbols symbols;
    const uint32_t name = symbols.intern("job.time");
    Writer writer({path, {}, false}, [&symbols](uint32_t id) { return symbols.name(id); });
    const int64_t time_ns = day_begin();
    for (int first = 0; first < kEntities; first += kBatch) {
      core::Batch batch;
      for (int i = first; i < first + kBatch; ++i) {
        add_sample(batch, symbols, time_ns + first / kBatch * kSecond, kSecond,
                   {{"host", "host" + std::to_string(i % 1000)}, {"process", "java"}, {"task", std::to_string(i)}});
        add_field(batch, name, {});
      }
      writer.write({batch.raw().samples, batch.raw().count}, time_ns);
    }
  }
  SqliteStore store(path);
  std::string figures;
  const auto measure = [&](const char *name, auto &&ask) {
    const double before = cpu_seconds();
    ask();
    figures += std::string(figures.empty() ? "{\"" : ", \"") + name + "\": " + std::to_string((cpu_seconds() - before) * 1e3);
  };
  measure("series_ms", [&] {
    if (store.series({}, kLimit + 1).size() != kLimit + 1) throw std::runtime_error("series are missing");
  });
  measure("metrics_ms", [&] { store.metrics(); });
  measure("keys_ms", [&] { store.tag_keys(); });
  measure("hosts_ms", [&] { store.tag_values("host"); });
  std::printf("%s}\n", figures.c_str());
}

// `length_ns` -1: windows of all lengths.
void count_rows(const char *path, int64_t length_ns) {
  Database database(path, Access::read_only);
  int64_t samples = 0, points = 0;
  Statement rows(database,
                 "SELECT s.fields FROM windows w CROSS JOIN samples s ON s.window = w.id WHERE w.packed = 0 AND ?1 IN (-1, "
                 "w.duration_ns)");
  rows.each(
      [&](const Row &row) {
        for (BlockReader block(row.text(0)); block.next(); ++samples)
          for (FieldReader fields(block.fields()); fields.next();) ++points;
      },
      length_ns);
  std::printf("{\"samples\": %lld, \"points\": %lld, \"entities\": %lld}\n", static_cast<long long>(samples),
              static_cast<long long>(points), static_cast<long long>(database.number("SELECT count(*) FROM entities")));
}

}  // namespace

int main(int count, char **arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  try {
    if (mode == "replay" && count == 5) {
      replay(arguments[2], arguments[3], arguments[4]);
    } else if (mode == "day" && count >= 4 && count <= 7) {
      day(arguments[2], arguments[3], count > 4 ? std::stoll(arguments[4]) * 3600 * kSecond : kDay,
          count > 5 ? std::max(1LL, std::stoll(arguments[5])) : 1, count > 6 ? std::stoul(arguments[6]) : kSeries);
    } else if (mode == "import" && count == 3) {
      import(arguments[2]);
    } else if (mode == "scan" && (count == 3 || count == 4)) {
      scan(arguments[2], count > 3 ? std::stoll(arguments[3]) * 3600 * kSecond : kDay);
    } else if (mode == "many" && count == 3) {
      many(arguments[2]);
    } else if (mode == "count" && (count == 3 || count == 4)) {
      count_rows(arguments[2], count > 3 ? std::stoll(arguments[3]) * kSecond : -1);
    } else if (mode == "rollup" && count == 4) {
      roll_up(arguments[2], std::stoll(arguments[3]));
    } else {
      std::fprintf(stderr,
                   "usage: store_bench replay RECORDING STORE LINES | day STORE LINES [HOURS [N [SERIES]]] | import STORE | "
                   "scan STORE [HOURS] | many STORE | count STORE [SECONDS] | rollup STORE SECONDS\n");
      return 2;
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "store_bench: %s\n", error.what());
    return 1;
  }
}

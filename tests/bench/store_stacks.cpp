// SPDX-License-Identifier: Apache-2.0
// Bytes a stack of the tree next to a text a stack, which was schema 2: an hour of two busy JVM threads at 101 Hz in windows of 10
// s.
//   store_stacks FOLDER
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "plugins/shared/store/sqlite/sqlite_store.h"
#include "plugins/shared/store/sqlite/writer.h"

using namespace atalaya;
using namespace atalaya::store;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kWindow = 10;
constexpr int64_t kSamplesAWindow = 202 * kWindow;  // two threads at 101 Hz
constexpr const char *kTextSchema =
    "PRAGMA journal_mode = OFF; CREATE TABLE stack_texts(id INTEGER PRIMARY KEY AUTOINCREMENT, hash INTEGER NOT NULL, folded TEXT "
    "NOT "
    "NULL, seen_ns INTEGER NOT NULL); CREATE INDEX stack_texts_hash ON stack_texts(hash); CREATE INDEX stack_texts_seen ON "
    "stack_texts(seen_ns); CREATE TABLE stacks(window INTEGER NOT NULL, entity INTEGER NOT NULL, stack INTEGER NOT NULL, fields "
    "TEXT "
    "NOT NULL, PRIMARY KEY(window, entity, stack)) WITHOUT ROWID; BEGIN";

// A program that calls down from a few roots: 20 to 60 frames. Some 2,000 places in it are where samples fall, the first far more
// often than the last; neighbours share their way down to one of 200 branches.
class Program {
 public:
  Program() {
    stacks_.reserve(2000);
    for (uint64_t i = 0; i < 2000; ++i) stacks_.push_back(way_to(i));
  }
  const std::string &stack() {
    const double share = static_cast<double>(random_() % 1'000'000) / 1e6;
    return stacks_[static_cast<size_t>(share * share * share * static_cast<double>(stacks_.size()))];
  }

 private:
  static std::string way_to(uint64_t place) {
    std::mt19937_64 thread(place % 3), branch(place % 200), own(place);
    std::string folded = "java;start_thread;thread_native_entry";
    for (int i = 0; i < 8; ++i) folded += frame(thread());
    for (uint64_t left = 5 + branch() % 30; left > 0; --left) folded += frame(branch());
    for (uint64_t left = 4 + own() % 15; left > 0; --left) folded += frame(own());
    return folded;
  }
  static std::string frame(uint64_t random) {
    const uint64_t name = random % 4000;
    return ";org.apache.spark.package" + std::to_string(name % 40) + ".Class" + std::to_string(name % 1000) + "$Inner.method" +
           std::to_string(name) + "_[j]";
  }

  std::vector<std::string> stacks_;
  std::mt19937_64 random_{7};
};

int64_t bytes_of(const std::string &path) {
  Database database(path, Access::read_only);
  return (database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")) * database.number("PRAGMA page_size");
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

using StackWindow = std::map<std::string, int64_t>;

std::vector<StackWindow> record() {
  Program program;
  std::vector<StackWindow> windows(3600 / kWindow);
  for (StackWindow &window : windows)
    for (int i = 0; i < kSamplesAWindow; ++i) ++window[program.stack()];
  return windows;
}

int64_t as_texts(const std::vector<StackWindow> &windows, const std::string &path) {
  Database database(path, Access::read_write);
  database.execute(kTextSchema);
  Statement text(database, "INSERT INTO stack_texts(hash, folded, seen_ns) VALUES(?1, ?2, ?3)");
  Statement put(database, "INSERT INTO stacks VALUES(?1, 1, ?2, ?3)");
  std::map<std::string, int64_t> ids;
  for (size_t i = 0; i < windows.size(); ++i) {
    for (const auto &[folded, count] : windows[i]) {
      const auto [place, is_new] = ids.try_emplace(folded);
      if (is_new) {
        text.run(static_cast<int64_t>(std::hash<std::string>{}(folded)), std::string_view(folded), 1'700'000'000 * kSecond);
        place->second = database.last_id();
      }
      put.run(static_cast<int64_t>(i), place->second, std::string_view("{\"1\":" + std::to_string(count) + "}"));
    }
  }
  database.execute("COMMIT");
  return bytes_of(path);
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: store_stacks FOLDER\n");
    return 2;
  }
  const std::string folder = arguments[1], path = folder + "/stacks.db";
  try {
    const std::vector<StackWindow> windows = record();
    core::Symbols symbols;
    double written = 0;
    int64_t stacks = 0;
    {
      Writer writer({path, {}, false}, [&](uint32_t id) { return symbols.name(id); });
      for (size_t i = 0; i < windows.size(); ++i) {
        core::Batch batch;
        const int64_t time_ns = (1'700'000'000 + static_cast<int64_t>(i) * kWindow) * kSecond;
        for (const auto &[folded, samples] : windows[i]) {
          atalaya_sample &sample = batch.add_sample(ATALAYA_STACK);
          sample.time_ns = time_ns;
          sample.duration_ns = kWindow * kSecond;
          sample.text = batch.copy(folded);
          batch.add_tag(sample, symbols.intern("process"), "java");
          atalaya_field field{symbols.intern("profile.samples"), ATALAYA_I64, {}};
          field.value.i64 = samples;
          batch.add_field(sample, field);
          ++stacks;
        }
        const double before = cpu_seconds();
        writer.write({batch.raw().samples, batch.raw().count}, time_ns);
        written += cpu_seconds() - before;
      }
    }
    int64_t bytes = 0, got = 0;
    const double before = cpu_seconds();
    SqliteStore(path).stacks({}, [&](const Stack &stack) {
      bytes += static_cast<int64_t>(stack.folded.size());
      got += stack.fields[0].count;
    });
    const double read = cpu_seconds() - before;
    Database database(path, Access::read_only);
    const int64_t samples = kSamplesAWindow * static_cast<int64_t>(windows.size());
    std::printf(
        "{\"stacks\": %lld, \"samples\": %lld, \"nodes\": %lld, \"texts_bytes\": %lld, \"tree_bytes\": %lld, \"read_back\": %lld, "
        "\"folded_bytes\": %lld, \"write_us\": %.2f, \"read_us\": %.2f}\n",
        static_cast<long long>(stacks), static_cast<long long>(samples),
        static_cast<long long>(database.number("SELECT count(*) FROM stack_nodes")),
        static_cast<long long>(as_texts(windows, folder + "/texts.db")), static_cast<long long>(bytes_of(path)),
        static_cast<long long>(got), static_cast<long long>(bytes), written / static_cast<double>(stacks) * 1e6,
        read / static_cast<double>(stacks) * 1e6);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "store_stacks: %s\n", error.what());
    return 1;
  }
}

// SPDX-License-Identifier: Apache-2.0
// Bytes a stack of the tree beside a text a stack, which was schema 2: an hour of two busy JVM threads at 101 Hz in windows of 10
// s.
//   store_stacks FOLDER
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/sample/batch.h"
#include "core/sample/symbols.h"
#include "plugins/store/sqlite_store.h"
#include "plugins/store/writer.h"

using namespace atalaya;
using namespace atalaya::store;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kWindow = 10;
constexpr int kSamplesAWindow = 2 * 101 * kWindow;
constexpr const char *kTextSchema =
    "PRAGMA journal_mode = OFF; CREATE TABLE stack_texts(id INTEGER PRIMARY KEY AUTOINCREMENT, hash INTEGER NOT NULL, folded TEXT "
    "NOT "
    "NULL, seen_ns INTEGER NOT NULL); CREATE INDEX stack_texts_hash ON stack_texts(hash); CREATE INDEX stack_texts_seen ON "
    "stack_texts(seen_ns); CREATE TABLE stacks(window INTEGER NOT NULL, entity INTEGER NOT NULL, stack INTEGER NOT NULL, fields "
    "TEXT "
    "NOT NULL, PRIMARY KEY(window, entity, stack)) WITHOUT ROWID; BEGIN";

// Programs that call down from a few roots: 20 to 60 frames; which callee is next depends on the caller, and a few are hot.
class Program {
 public:
  std::string stack() {
    const size_t depth = 20 + random_() % 41;
    uint64_t at = random_() % 3;
    std::string folded = "java;start_thread;thread_native_entry";
    for (size_t i = 0; i < depth; ++i) {
      // Near the root there is one way, further down there are some.
      const uint64_t ways = i < 12 ? 1 : 1 + at % 4;
      const uint64_t way = std::min(random_() % ways, random_() % ways);
      at = (at * 6364136223846793005u + way * 7919 + i + 1442695040888963407u) >> 3;
      folded += ";org.apache.spark.package" + std::to_string(at % 40) + ".Class" + std::to_string(at % 900) + "$Inner.method" +
                std::to_string(at % 4001) + "_[j]";
    }
    return folded;
  }

 private:
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

using Window = std::map<std::string, int64_t>;

std::vector<Window> record() {
  Program program;
  std::vector<Window> windows(3600 / kWindow);
  for (Window &window : windows)
    for (int i = 0; i < kSamplesAWindow; ++i) ++window[program.stack()];
  return windows;
}

int64_t as_texts(const std::vector<Window> &windows, const std::string &path) {
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
    const std::vector<Window> windows = record();
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
    std::printf(
        "{\"stacks\": %lld, \"samples\": %lld, \"nodes\": %lld, \"texts_bytes\": %lld, \"tree_bytes\": %lld, \"read_back\": %lld, "
        "\"folded_bytes\": %lld, \"write_us\": %.2f, \"read_us\": %.2f}\n",
        static_cast<long long>(stacks), static_cast<long long>(kSamplesAWindow * static_cast<int64_t>(windows.size())),
        static_cast<long long>(database.number("SELECT count(*) FROM stack_nodes")),
        static_cast<long long>(as_texts(windows, folder + "/texts.db")), static_cast<long long>(bytes_of(path)),
        static_cast<long long>(got), static_cast<long long>(bytes), written / static_cast<double>(stacks) * 1e6,
        read / static_cast<double>(stacks) * 1e6);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "store_stacks: %s\n", error.what());
    return 1;
  }
}

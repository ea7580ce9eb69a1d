// SPDX-License-Identifier: Apache-2.0
// The spool's segment files next to a queue in SQLite, and how long opening takes with a backlog: spool_bench DIR [BACKLOG_MIB]
// Both keep the same promise: a record survives the process at once and the machine after a sync; a delivered record is settled
// for the process at once.
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/delivery/spool.h"

using namespace atalaya::core;

namespace {

constexpr int kRuns = 5;

double wall() {
  return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count()) / 1e9;
}
double cpu() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

struct Cost {
  double wall_s = 0, cpu_s = 0;
};

SpoolLimits limits_in(const std::string &dir) {
  return {
      .dir = dir, .max_bytes = int64_t{1} << 40, .min_free_bytes = 0, .max_age_ns = 0, .sync_ns = 0, .when_full = WhenFull::block};
}

void must(bool good, const char *error) {
  if (!good) throw std::runtime_error(error);
}

Cost segments(const std::string &dir, const std::string &payload, int count, int sync_every) {
  std::filesystem::remove_all(dir);
  const double wall_begin = wall();
  const double cpu_begin = cpu();
  auto spool = Spool::open(limits_in(dir));
  must(spool.ok(), "open");
  SpoolDrops drops;
  for (int i = 0; i < count; ++i) {
    must((*spool)->append("p", 1000, payload, drops).put == Spool::Put::stored, "append");
    if (i % sync_every == sync_every - 1) must((*spool)->sync().ok(), "sync");
  }
  for (int i = 0; i < count; ++i) {
    must((*spool)->take(drops).has_value(), "take");
    (*spool)->settle({.delivered = 1000, .dead_letter = 0, .dropped = {}});
  }
  (*spool)->close();
  return {wall() - wall_begin, cpu() - cpu_begin};
}

class Database {
 public:
  explicit Database(const std::string &path) { must(sqlite3_open(path.c_str(), &db_) == SQLITE_OK, "sqlite open"); }
  ~Database() { sqlite3_close(db_); }
  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;
  void run(const char *sql) { must(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql); }
  sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement = nullptr;
    must(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) == SQLITE_OK, sql);
    return statement;
  }

 private:
  sqlite3 *db_ = nullptr;
};

Cost sqlite(const std::string &dir, const std::string &payload, int count, int sync_every) {
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  const double wall_begin = wall();
  const double cpu_begin = cpu();
  {
    Database db(dir + "/queue.db");
    db.run(
        "pragma journal_mode = wal; pragma synchronous = normal; pragma auto_vacuum = incremental; pragma wal_autocheckpoint = 0;"
        "create table queue (id integer primary key, pipeline text, samples integer, body blob)");
    if (sync_every == 1) db.run("pragma synchronous = full; pragma wal_autocheckpoint = 1000");
    sqlite3_stmt *insert = db.prepare("insert into queue (pipeline, samples, body) values ('p', 1000, ?)");
    for (int i = 0; i < count; ++i) {
      sqlite3_bind_blob(insert, 1, payload.data(), static_cast<int>(payload.size()), SQLITE_STATIC);
      must(sqlite3_step(insert) == SQLITE_DONE, "insert");
      sqlite3_reset(insert);
      if (sync_every > 1 && i % sync_every == sync_every - 1) db.run("pragma wal_checkpoint(passive)");
    }
    sqlite3_finalize(insert);
    db.run("pragma synchronous = normal; pragma wal_autocheckpoint = 1000");
    sqlite3_stmt *first = db.prepare("select id, body from queue order by id limit 1");
    sqlite3_stmt *remove = db.prepare("delete from queue where id = ?");
    for (int i = 0; i < count; ++i) {
      must(sqlite3_step(first) == SQLITE_ROW, "select");
      const std::string body(static_cast<const char *>(sqlite3_column_blob(first, 1)),
                             static_cast<size_t>(sqlite3_column_bytes(first, 1)));
      must(body.size() == payload.size(), "body");
      sqlite3_bind_int64(remove, 1, sqlite3_column_int64(first, 0));
      sqlite3_reset(first);
      must(sqlite3_step(remove) == SQLITE_DONE, "delete");
      sqlite3_reset(remove);
    }
    sqlite3_finalize(first);
    sqlite3_finalize(remove);
    db.run("pragma incremental_vacuum; pragma wal_checkpoint(truncate)");
  }
  return {wall() - wall_begin, cpu() - cpu_begin};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const std::string &dir, const char *title, size_t size, int count, int sync_every) {
  const std::string payload(size, 'x');
  std::vector<double> wall_ratios;
  std::vector<double> cpu_ratios;
  std::vector<double> ours_cpu;
  std::vector<double> ours_wall;
  for (int run = 0; run < kRuns; ++run) {
    const Cost ours = segments(dir + "/segments", payload, count, sync_every);
    const Cost theirs = sqlite(dir + "/sqlite", payload, count, sync_every);
    wall_ratios.push_back(theirs.wall_s / ours.wall_s);
    cpu_ratios.push_back(theirs.cpu_s / ours.cpu_s);
    ours_cpu.push_back(ours.cpu_s / count * 1e6);
    ours_wall.push_back(ours.wall_s / count * 1e6);
  }
  const auto [minimum, maximum] = std::minmax_element(cpu_ratios.begin(), cpu_ratios.end());
  std::printf("%-34s segments %7.0f us CPU %7.0f us a batch; SQLite %.1f x the CPU (%.1f..%.1f), %.1f x the time\n", title,
              median(ours_cpu), median(ours_wall), median(cpu_ratios), *minimum, *maximum, median(wall_ratios));
}

void reopen(const std::string &dir, uint64_t mib) {
  const std::string payload(size_t{300} << 10, 'x');
  {
    auto spool = Spool::open(limits_in(dir));
    must(spool.ok(), "open");
    SpoolDrops drops;
    for (uint64_t bytes = 0; bytes < mib << 20; bytes += payload.size())
      must((*spool)->append("p", 1000, payload, drops).put == Spool::Put::stored, "append");
  }
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = wall();
    auto spool = Spool::open(limits_in(dir));
    must(spool.ok(), "reopen");
    SpoolDrops drops;
    must((*spool)->take(drops).has_value(), "take");
    times.push_back(wall() - begin);
  }
  std::printf("open and take the first of %llu MiB: %.1f ms (goal: less than 1000 ms for 10 GiB)\n",
              static_cast<unsigned long long>(mib), median(times) * 1e3);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: spool_bench DIR [BACKLOG_MIB]\n");
    return 2;
  }
  const std::string dir = std::string(argv[1]) + "/spool_bench";
  compare(dir, "1,000 processes, sync every 50", 300 << 10, 300, 50);
  compare(dir, "1,000 processes, sync each", 300 << 10, 100, 1);
  compare(dir, "10 samples, sync every 50", 3 << 10, 5000, 50);
  compare(dir, "10 samples, sync each", 3 << 10, 300, 1);
  reopen(dir + "/backlog", argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024);
  std::filesystem::remove_all(dir);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/bill.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/unit/store/query/memory_store.h"

namespace atalaya::report_command::test {
namespace {

using query::test::kSecond;
using query::test::kT0;
using query::test::MemoryStore;
using store::Kind;

constexpr int kWindows = 20;  // of a second
enum { kCpu, kMemory, kEnergy, kDiskReads, kDiskWrites, kNetIn, kNetOut };

// Declares the metrics as their sources do.
void declare(MemoryStore &store) {
  for (const char *name : {"user", "kernel", "irq", "softirq", "steal", "idle", "wait"})
    store.declare("sys.cpu." + std::string(name), Kind::rate, "%");
  for (const char *name : {"proc.cpu.energy", "sys.energy.packages", "sys.energy.idle"}) store.declare(name, Kind::delta, "J");
  for (const char *protocol : {"tcp", "udp"})
    for (const char *way : {"in", "out"})
      store.declare("proc.net." + std::string(protocol) + "." + way + ".mb", Kind::rate, "Mibit/s");
}

Bill bill(MemoryStore &store, const std::vector<store::TagFilter> &tags = {}, size_t top = 100) {
  query::Budget budget({});
  return bill_of("job", tags, {kT0, kT0 + kWindows * kSecond}, store, budget, top);
}

const BillRow &row_of(const Bill &bill, RowKind kind, const std::string &name = "") {
  for (const BillRow &row : bill.rows)
    if (row.kind == kind && (name.empty() || row.name == name)) return row;
  FAIL("no row " << name);
  return bill.rows.front();
}

// Hosts with processes of three jobs and without one, and the sums, kept while the store is filled.
struct Machines {
  explicit Machines(unsigned seed) : random(seed) {
    declare(store);
    for (const char *host : {"a", "b"}) fill(host);
  }
  double any(double maximum) { return std::uniform_real_distribution<>(0, maximum)(random); }
  double series(const std::string &metric, store::Tags tags, double maximum) {
    query::test::Values values;
    double sum = 0;
    for (int window = 1; window <= kWindows; ++window) {
      values.emplace_back(window, any(maximum));
      sum += values.back().second;
    }
    store.add(metric, tags, values);
    return sum;
  }
  void fill(const std::string &host) {
    for (int pid = 0; pid < 12; ++pid) {
      store::Tags tags = {{"host", host}, {"process", "p"}, {"pid", std::to_string(pid)}};
      const std::string job = pid % 4 == 0 ? "" : "job" + std::to_string(pid % 4);
      if (!job.empty()) tags["job"] = job;
      for (const char *metric : {"proc.cpu.user", "proc.cpu.kernel"}) jobs[job][kCpu] += series(metric, tags, 40) / 100;
      jobs[job][kMemory] += series("proc.mem.resident", tags, 100) / 3600 / 1024;
      jobs[job][kEnergy] += series("proc.cpu.energy", tags, 3);
      jobs[job][kDiskWrites] += series("proc.disk.writes.mb", tags, 9);
      for (const char *metric : {"proc.net.tcp.out.mb", "proc.net.udp.out.mb"}) jobs[job][kNetOut] += series(metric, tags, 80) / 8;
    }
    series("proc.cpu.user", {{"host", host}, {"process", "irq"}}, 5);
    series("proc.cpu.kernel", {{"host", host}, {"process", "unattributed"}}, 5);
    for (const char *core : {"0", "1"})
      for (const char *name : {"user", "kernel", "irq", "softirq", "steal", "idle", "wait"}) {
        const double used = series("sys.cpu." + std::string(name), {{"host", host}, {"core", core}}, 100) / 100;
        total[kCpu] += used;
        if (std::string(name) == "idle" || std::string(name) == "wait") idle[kCpu] += used;
      }
    total[kMemory] += series("sys.mem.total", {{"host", host}}, 9000) / 3600 / 1024;
    idle[kMemory] += series("sys.mem.free", {{"host", host}}, 500) / 3600 / 1024;
    total[kEnergy] += series("sys.energy.packages", {{"host", host}}, 90);
    idle[kEnergy] += series("sys.energy.idle", {{"host", host}}, 9);
    total[kDiskWrites] += series("sys.disk.write.mb", {{"host", host}, {"disk", "sda"}}, 60);
    series("sys.disk.write.mb", {{"host", host}, {"disk", "dm-0"}}, 60);  // on sda
    series("sys.disk.write.mb", {{"host", host}, {"disk", "sda1"}}, 60);
    total[kDiskWrites] += series("sys.disk.write.mb", {{"host", host}, {"disk", "nvme0n1"}}, 60);
    for (const char *part : {"nvme0c0n1", "nvme0c1n1", "nvme0n1p1"})
      series("sys.disk.write.mb", {{"host", host}, {"disk", part}}, 60);
    for (const char *interface : {"eth0", "lo"})
      total[kNetOut] += series("sys.net.out.mb", {{"host", host}, {"interface", interface}}, 900) / 8;
    series("sys.net.out.mb", {{"host", host}, {"interface", "veth12"}}, 900);
  }

  std::mt19937 random;
  MemoryStore store;
  std::map<std::string, std::map<int, double>> jobs;
  std::map<int, double> total, idle;
};

TEST_CASE("the rows of a bill are the sums of their processes, and with unattributed and idle they are the machines'") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Machines machines(seed);
    const Bill all = bill(machines.store);
    CHECK(all.undeclared.empty());
    const BillRow &total = row_of(all, RowKind::total), &idle = row_of(all, RowKind::idle);
    for (const int resource : {kCpu, kMemory, kEnergy, kDiskWrites, kNetOut}) {
      CHECK(total.amounts[resource] == doctest::Approx(machines.total[resource]));
      if (machines.idle.contains(resource)) CHECK(idle.amounts[resource] == doctest::Approx(machines.idle[resource]));
      for (const auto &[job, amounts] : machines.jobs) {
        const BillRow &row = job.empty() ? row_of(all, RowKind::none) : row_of(all, RowKind::group, job);
        CHECK(row.amounts[resource] == doctest::Approx(amounts.at(resource)));
      }
      double sum = 0;
      for (const BillRow &row : all.rows)
        if (row.kind != RowKind::total && !std::isnan(row.amounts[resource])) sum += row.amounts[resource];
      CHECK(sum == doctest::Approx(total.amounts[resource]));
    }
    for (const int resource : {kDiskReads, kNetIn})
      for (const BillRow &row : all.rows) CHECK(std::isnan(row.amounts[resource]));
  }
}

TEST_CASE("a bill has the largest groups first, and the others in one row") {
  Machines machines(1);
  const Bill all = bill(machines.store), two = bill(machines.store, {}, 2);
  REQUIRE(all.rows.size() == 3 + 4);
  CHECK(all.rows[0].amounts[kCpu] >= all.rows[1].amounts[kCpu]);
  CHECK(all.rows[1].amounts[kCpu] >= all.rows[2].amounts[kCpu]);
  REQUIRE(two.rows.size() == 3 + 4);
  CHECK(two.rows[2].name == "other (1)");
  for (size_t i = 0; i < kResources.size(); ++i)
    if (!std::isnan(all.rows[2].amounts[i])) CHECK(two.rows[2].amounts[i] == doctest::Approx(all.rows[2].amounts[i]));
  CHECK(row_of(two, RowKind::unattributed).amounts[kCpu] == doctest::Approx(row_of(all, RowKind::unattributed).amounts[kCpu]));
}

TEST_CASE("a filter of hosts selects processes and machines, another filter only processes") {
  Machines machines(2);
  const Bill all = bill(machines.store), one = bill(machines.store, {{"host", {"a"}}}),
             other = bill(machines.store, {{"host", {"b"}}});
  for (const RowKind kind : {RowKind::none, RowKind::unattributed, RowKind::idle, RowKind::total})
    CHECK(row_of(one, kind).amounts[kCpu] + row_of(other, kind).amounts[kCpu] == doctest::Approx(row_of(all, kind).amounts[kCpu]));
  const Bill some = bill(machines.store, {{"job", {"job1"}}});
  CHECK(row_of(some, RowKind::total).amounts[kCpu] == doctest::Approx(row_of(all, RowKind::total).amounts[kCpu]));
  CHECK(row_of(some, RowKind::group).amounts[kCpu] == doctest::Approx(row_of(all, RowKind::group, "job1").amounts[kCpu]));
}

TEST_CASE("a metric of an unknown unit is left out, and a tag that no process has is an error") {
  MemoryStore foreign;
  foreign.add("proc.cpu.user", {{"job", "x"}}, {{1, 100}});
  foreign.add("proc.cpu.energy", {{"job", "x"}}, {{1, 100}});
  const Bill known = bill(foreign);
  CHECK(known.undeclared == std::set<std::string>{"proc.cpu.energy"});
  CHECK(row_of(known, RowKind::group, "x").amounts[kCpu] == doctest::Approx(1));
  CHECK(std::isnan(row_of(known, RowKind::group, "x").amounts[kEnergy]));
  CHECK(std::isnan(row_of(known, RowKind::total).amounts[kCpu]));
  MemoryStore plain;
  plain.add("proc.cpu.user", {{"pid", "1"}}, {{1, 100}});
  CHECK_THROWS_WITH_AS(bill(plain), doctest::Contains("no process has the tag job"), query::Wrong);
}

TEST_CASE("the forms of a bill have the same numbers") {
  MemoryStore store;
  store.add("proc.cpu.user", {{"job", "a\x1b[1m"}}, {{1, 100}, {2, 50}});
  const Bill one = bill(store);
  CHECK(as_table(one).find("\x1b") == std::string::npos);
  CHECK(as_json(one).find(R"({"kind":"group","job":"a\u001b[1m","cpu":1.5,"memory":null)") != std::string::npos);
  CHECK(as_csv(one).find("group,1.5,") != std::string::npos);
  CHECK(as_csv(one).starts_with("job,kind,cpu core-seconds,memory GiB-hours,"));
}

}  // namespace
}  // namespace atalaya::report_command::test

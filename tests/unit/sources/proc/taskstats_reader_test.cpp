// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/exits/taskstats_reader.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <utility>

#include "tests/unit/sources/proc/taskstats_messages.h"

namespace atalaya::proc {
namespace {

using namespace atalaya;
using namespace atalaya::testing;

std::optional<TaskEnd> end_of(const Buffer &stats) {
  return task_end(taskstats_payload(task_aggregate(4711, stats)));
}

std::optional<TaskEnd> end_of(const taskstats &stats, uint16_t version = 13) {
  return end_of(stats_of_version(stats, version));
}

void check_example(const TaskEnd &end) {
  CHECK(end.pid == 4711);
  CHECK(end.parent == 4700);
  CHECK(end.name.text() == "cc1 (x)");
  CHECK(end.elapsed_us == 2'500'000);
  CHECK(end.end_s == 1'700'000'002);
  CHECK(end.cpu.exec_ns == 40'000'000);
  CHECK(end.cpu.user_us == 30'000);
  CHECK(end.cpu.kernel_us == 10'000);
  CHECK(end.counters.get(procfs::Counter::delay_ns) == 12'000);
  CHECK(end.counters.get(procfs::Counter::disk_reads_bytes) == 8192);
  CHECK(end.counters.get(procfs::Counter::disk_writes_bytes) == 16384);
  CHECK(end.counters.get(procfs::Counter::reads_bytes) == 3072);
  CHECK(end.counters.get(procfs::Counter::writes_bytes) == 4096);
  CHECK(end.counters.get(procfs::Counter::faults_minor) == 21);
  CHECK(end.counters.get(procfs::Counter::faults_major) == 22);
  CHECK(end.counters.get(procfs::Counter::switches_voluntary) == 31);
  CHECK(end.counters.get(procfs::Counter::switches_involuntary) == 32);
  CHECK_FALSE(end.total);
}

TEST_CASE("every version of the record has the same values") {
  for (uint16_t version = 8; version <= 18; ++version) {
    CAPTURE(version);
    const auto end = end_of(example_stats(), version);
    REQUIRE(end);
    CHECK(end->version == version);
    check_example(*end);
    CHECK(end->process == (version < 12 ? 0 : 4711));
    CHECK(end->last == (version >= 12));
  }
}

TEST_CASE("version 15 came with one and with two members more for each delay") {
  for (const size_t added : {size_t{1}, size_t{2}}) {
    const auto end = end_of(stats_of_version(example_stats(), 15, added));
    REQUIRE(end);
    check_example(*end);
    CHECK(end->process == 4711);
  }
  CHECK_FALSE(end_of(stats_of_version(example_stats(), 15, 0)));
  CHECK_FALSE(end_of(stats_of_version(example_stats(), 15, 3)));
}

TEST_CASE("a record shorter than its version and a version before 8 are refused") {
  constexpr std::pair<uint16_t, size_t> kNeeded[] = {{8, 328}, {9, 328}, {10, 352}, {12, 400}, {13, 400}, {14, 432}, {16, 432}};
  for (const auto &[version, size] : kNeeded) {
    Buffer stats = stats_of_version(example_stats(), version);
    stats.resize(size);
    CHECK(end_of(stats));
    stats.pop_back();
    CHECK_FALSE(end_of(stats));
  }
  CHECK_FALSE(end_of(stats_of_version(example_stats(), 7)));
  CHECK_FALSE(end_of(Buffer{}));
}

TEST_CASE("call counts are not reported: the kernel cuts them to multiples of 1024; so it does with bytes, where 0 means unknown") {
  taskstats stats = example_stats();
  stats.read_char = 0;
  const auto end = end_of(stats);
  REQUIRE(end);
  CHECK_FALSE(end->counters.has(procfs::Counter::reads_bytes));
  CHECK(end->counters.has(procfs::Counter::writes_bytes));
  CHECK_FALSE(end->counters.has(procfs::Counter::reads_calls));
  CHECK_FALSE(end->counters.has(procfs::Counter::writes_calls));
}

TEST_CASE("values that the kernel does not account are unknown") {
  taskstats stats = example_stats();
  stats.hiwater_vm = 0;  // a kernel thread, or no CONFIG_TASK_XACCT
  stats.cpu_count = 0;   // no CONFIG_TASK_DELAY_ACCT
  const auto end = end_of(stats);
  REQUIRE(end);
  for (const procfs::Counter counter : {procfs::Counter::disk_reads_bytes, procfs::Counter::disk_writes_bytes,
                                        procfs::Counter::reads_bytes, procfs::Counter::writes_bytes, procfs::Counter::delay_ns})
    CHECK_FALSE(end->counters.has(counter));
  CHECK(end->counters.has(procfs::Counter::faults_minor));
  CHECK_FALSE(end->kernel_thread);
  stats.ac_ppid = 2;
  CHECK(end_of(stats)->kernel_thread);
}

TEST_CASE("the last of several threads brings the sum of all") {
  taskstats total{};  // with no version, and nothing but delay accounting
  total.cpu_run_virtual_total = 90'000'000;
  total.cpu_count = 5;
  total.cpu_delay_total = 77;
  taskstats last = example_stats();
  last.ac_pid = 4712;
  Buffer attributes = task_aggregate(4712, stats_of_version(last, 13));
  append(attributes, process_aggregate(4711, bytes_of(&total, sizeof(total))));
  const auto end = task_end(taskstats_payload(attributes));
  REQUIRE(end);
  CHECK(end->pid == 4712);
  CHECK(end->process == 4711);
  CHECK(end->last);
  REQUIRE(end->total);
  CHECK(end->total->exec_ns == 90'000'000);
  CHECK(end->total->delay_ns == 77);
}

TEST_CASE("a name without an end is cut at its place") {
  taskstats stats = example_stats();
  std::memset(stats.ac_comm, 'n', sizeof(stats.ac_comm));
  const auto end = end_of(stats);
  REQUIRE(end);
  CHECK(end->name.text() == std::string(32, 'n'));
}

TEST_CASE("a record with a pid or a time that is none is refused, one with an odd date has no date") {
  taskstats stats = example_stats();
  stats.ac_pid = 0;
  CHECK_FALSE(end_of(stats));
  stats = example_stats();
  stats.ac_tgid = 0xffffffff;
  CHECK_FALSE(end_of(stats));
  stats = example_stats();
  stats.ac_etime = UINT64_MAX;
  CHECK_FALSE(end_of(stats));
  stats = example_stats();
  stats.ac_btime64 = UINT64_MAX;
  REQUIRE(end_of(stats));
  CHECK(end_of(stats)->end_s == 0);
}

TEST_CASE("messages of other kinds and cut ones are no records") {
  const Buffer whole = taskstats_payload(task_aggregate(4711, stats_of_version(example_stats(), 13)));
  REQUIRE(task_end(whole));
  for (size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(task_end(Bytes(whole).first(size)));
  CHECK_FALSE(task_end(taskstats_payload(task_aggregate(4711, stats_of_version(example_stats(), 13)), TASKSTATS_CMD_GET)));
  CHECK_FALSE(task_end(taskstats_payload(attribute(TASKSTATS_TYPE_NULL, {}))));
}

TEST_CASE("padding before the record is skipped") {
  Buffer attributes = attribute(TASKSTATS_TYPE_NULL, {});
  append(attributes, task_aggregate(4711, stats_of_version(example_stats(), 13)));
  CHECK(task_end(taskstats_payload(attributes)));
}

TEST_CASE("a datagram yields its messages one by one and stops at a malformed one") {
  Buffer datagram = netlink_message(17, bytes_of("abcde", 5), 3);
  append(datagram, netlink_message(18, {}));
  Bytes rest = datagram;
  NetlinkMessage message;
  REQUIRE(next_message(rest, message));
  CHECK(message.type == 17);
  CHECK(message.sequence == 3);
  CHECK(message.payload.size() == 5);
  REQUIRE(next_message(rest, message));
  CHECK(message.type == 18);
  CHECK(message.payload.empty());
  CHECK_FALSE(next_message(rest, message));
  CHECK(rest.empty());

  rest = Bytes(datagram).first(20);  // shorter than its header
  CHECK_FALSE(next_message(rest, message));
  CHECK(rest.size() == 20);
  nlmsghdr tiny{};
  tiny.nlmsg_len = 3;
  const Buffer loop = bytes_of(&tiny, sizeof(tiny));
  rest = loop;
  CHECK_FALSE(next_message(rest, message));
}

NetlinkMessage answer(const Buffer &payload) {
  return {NLMSG_ERROR, 0, payload};
}

TEST_CASE("answers: done, refused, nonsense") {
  nlmsgerr error{};
  const auto payload = [&error](int code) {
    error.error = code;
    return bytes_of(&error, sizeof(error));
  };
  CHECK(result_of(answer(payload(0))) == 0);
  CHECK(result_of(answer(payload(-EPERM))) == EPERM);
  CHECK(result_of(answer(payload(5))) == EPROTO);
  CHECK(result_of(answer(payload(INT32_MIN))) == EPROTO);
  CHECK_FALSE(result_of(answer({})));
  CHECK_FALSE(result_of(NetlinkMessage{NLMSG_DONE, 0, {}}));
}

TEST_CASE("the controller returns the family's id") {
  const uint16_t id = 23;
  Buffer attributes = attribute(CTRL_ATTR_FAMILY_NAME, bytes_of("TASKSTATS", 10));
  append(attributes, attribute(CTRL_ATTR_FAMILY_ID, bytes_of(&id, sizeof(id))));
  const Buffer payload = taskstats_payload(attributes, CTRL_CMD_NEWFAMILY);
  CHECK(family_of({GENL_ID_CTRL, 0, payload}) == 23);
  CHECK_FALSE(family_of({17, 0, payload}));
  CHECK_FALSE(family_of({GENL_ID_CTRL, 0, Bytes(payload).first(10)}));
}

TEST_CASE("CPU time is divided by ticks; without a tick it is user time, without the exact time the ticks are all") {
  const auto divided = [](const TaskCpu &cpu, bool kernel_thread = false) {
    procfs::Known<procfs::Counter, procfs::kCounters> counters;
    set_cpu(cpu, kernel_thread, counters);
    return std::pair(counters.get(procfs::Counter::user_ns), counters.get(procfs::Counter::kernel_ns));
  };
  CHECK(divided({100, 30, 10}) == std::pair<uint64_t, uint64_t>(75, 25));
  CHECK(divided({100, 0, 10}) == std::pair<uint64_t, uint64_t>(0, 100));
  CHECK(divided({100, 0, 0}) == std::pair<uint64_t, uint64_t>(100, 0));
  CHECK(divided({0, 3, 1}) == std::pair<uint64_t, uint64_t>(3000, 1000));
  CHECK(divided({100, 0, 0}, true) == std::pair<uint64_t, uint64_t>(0, 100));
  CHECK(divided({UINT64_MAX, 0, 1}).second > UINT64_MAX / 4);
}

}  // namespace
}  // namespace atalaya::proc

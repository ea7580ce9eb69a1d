// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/log_message.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::kernel {
namespace {

template <class T>
T read(std::string_view text) {
  const Message message = parse_message(text);
  REQUIRE(std::holds_alternative<T>(message));
  return std::get<T>(message);
}
bool is_other(std::string_view text) {
  return std::holds_alternative<std::monostate>(parse_message(text));
}

TEST_CASE("records have a time, a sender and the first line") {
  const auto record = parse_record("3,1277,25450790934,-,caller=T7;Memory low\n SUBSYSTEM=x\n");
  REQUIRE(record);
  CHECK(record->sequence == 1277);
  CHECK(record->time_ns == 25450790934000);
  CHECK(record->from_kernel);
  CHECK(record->text == "Memory low");
  CHECK_FALSE(parse_record("14,1,2,-;a program wrote this")->from_kernel);
  for (const char *bad : {"", ";", "3", "3,4;x", "3,4,5,-", "x,4,5,-;t", "3,4,-5,-;t", "3,4,99999999999999999999,-;t"})
    CHECK_MESSAGE(!parse_record(bad), bad);
}

TEST_CASE("OOM kills have the victim and its memory") {
  const char *const sizes =
      " total-vm:221368kB, anon-rss:30208kB, file-rss:6184kB, shmem-rss:8kB, UID:0 pgtables:124kB oom_score_adj:0";
  for (const std::string kind : {"Memory cgroup out of memory", "Out of memory", "Out of memory (oom_kill_allocating_task)"}) {
    CHECK(read<Kill>(kind + ": Killed process 25172 (python3)" + sizes) == Kill{25172, "python3", 36400});
    CHECK(read<Kill>(kind + ": Killed process 7 (a) total-vm:1kB (b)" + sizes) == Kill{7, "a) total-vm:1kB (b", 36400});
  }
  CHECK(is_other("Out of memory: Killed process 0 (x) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:1kB"));
  CHECK(is_other("Out of memory: Killed process 7 (x) total-vm:1kB, anon-rss:1kB, file-rss:1kB"));
  CHECK(is_other("Killed process 7 (x) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:1kB"));
}

TEST_CASE("the message before a kill has the cgroup") {
  CHECK(read<KillCgroup>("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,"
                         "task_memcg=/a/b,task=python3,pid=25172,uid=0") == KillCgroup{25172, "/a/b"});
  CHECK(read<KillCgroup>("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
                         "task_memcg=/,task=x,pid=1,pid=9,uid=0") == KillCgroup{9, "/"});
  CHECK(is_other("oom-kill:constraint=CONSTRAINT_NONE,task_memcg=/"));
}

TEST_CASE("crashes have the thread, the kind and the file") {
  CHECK(read<Crash>("sf[25263]: segfault at 8 ip 000056106dccd132 sp 00007ffe65cdc7f0 error 6 in sf[1132,56106dccd000+1000] likely "
                    "on CPU 1 (core 1, socket 0)") == Crash{25263, "sf", "segfault", "sf"});
  CHECK(read<Crash>("a [b][7]: segfault at 0 ip 0 sp 0 error 14") == Crash{7, "a [b]", "segfault", ""});
  CHECK(read<Crash>("traps: java[812] general protection fault ip:7f sp:7f error:0 in libc.so.6[7f+1b9000]") ==
        Crash{812, "java", "general protection fault", "libc.so.6"});
  CHECK(read<Crash>("traps: div[9] trap divide error ip:55 sp:7f error:0 in div[55+1000]") ==
        Crash{9, "div", "divide error", "div"});
  CHECK(read<Crash>("app[5]: unhandled level 2 translation fault (11) at 0x8, esr 0x92000046, in app[aaaa+1000]") ==
        Crash{5, "app", "segfault", "app"});
  CHECK(read<Crash>("app[5]: unhandled exception: SP/PC alignment, ESR 0x1, in app[aaaa+1000]") ==
        Crash{5, "app", "exception", "app"});
  for (const char *other : {"sf: segfault at 8 ip 0", "[7]: segfault at 8", "sf[]: segfault at 8", "sf[x]: segfault at 8",
                            "traps: x", "traps: a[1] ip:", "Code: 64 ff ff"})
    CHECK_MESSAGE(is_other(other), other);
}

TEST_CASE("file systems with an error name their device") {
  CHECK(read<FileSystemError>("EXT4-fs (sda1): Remounting filesystem read-only") == FileSystemError{"sda1"});
  CHECK(read<FileSystemError>("BTRFS info (device dm-0: state EA): forced readonly") == FileSystemError{"dm-0"});
  CHECK(read<FileSystemError>("FAT-fs (sdb1): Filesystem has been set read-only") == FileSystemError{"sdb1"});
  CHECK(is_other("EXT4-fs (sda1): mounted filesystem with ordered data mode"));
}

}  // namespace
}  // namespace atalaya::kernel

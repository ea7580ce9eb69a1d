// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/jvm/thread_dump.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace atalaya::jvm {
namespace {

constexpr std::string_view kDump = R"(2026-11-22 07:54:08
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):

Threads class SMR info:
_java_thread_list=0x00007f7a200023f0, length=14, elements={
0x00007f7aa4017ef0
}

"Finalizer" #3 daemon prio=8 os_prio=0 cpu=0.22ms elapsed=2.52s tid=0x00007f7aa409ea90 nid=0x3ac3 in Object.wait()  [0x00007f7aa8c67000]
   java.lang.Thread.State: WAITING (on object monitor)
	at java.lang.Object.wait(java.base@17.0.15/Native Method)
	- waiting on <0x00000000fc000790> (a java.lang.ref.ReferenceQueue$Lock)
	at java.lang.ref.ReferenceQueue.remove(java.base@17.0.15/ReferenceQueue.java:155)

"busy "odd" name #1" #12 prio=5 os_prio=0 cpu=687.49ms elapsed=2.45s tid=0x00007f7aa40b69c0 nid=15068 runnable  [0x00007f7aa820e000]
   java.lang.Thread.State: RUNNABLE
	at T.fib(T.java:1)
	at T$$Lambda$1/0x00007f7a30000a08.run(Unknown Source)

"old" prio=5 tid=0x1 nid=0x2 runnable
   java.lang.Thread.State: TIMED_WAITING (sleeping)

"VM Thread" os_prio=0 cpu=12.00ms elapsed=2.53s tid=0x00007f7aa4091ef0 nid=0x3ac0 runnable  

JNI global refs: 6, weak refs: 0

)";

std::vector<DumpedThread> threads_in(std::string_view text) {
  std::vector<DumpedThread> all;
  DumpedThread thread;
  for (ThreadDump dump(text); dump.next(thread);) all.push_back(thread);
  return all;
}

void check_frame(std::string_view text, std::string_view type, std::string_view method, std::string_view file, int line) {
  CAPTURE(text);
  const auto frame = parse_frame(text);
  REQUIRE(frame);
  CHECK(frame->type == type);
  CHECK(frame->method == method);
  CHECK(frame->file == file);
  CHECK(frame->line == line);
}

}  // namespace

TEST_CASE("the threads of a dump, each with its CPU time, state and frames") {
  const auto all = threads_in(kDump);
  REQUIRE(all.size() == 4);
  CHECK(all[0].name == "Finalizer");
  CHECK(all[0].cpu_ns == 220'000);
  CHECK(all[0].state == State::waiting);
  CHECK(all[0].frames ==
        std::vector<std::string_view>{"java.lang.Object.wait(java.base@17.0.15/Native Method)",
                                      "java.lang.ref.ReferenceQueue.remove(java.base@17.0.15/ReferenceQueue.java:155)"});
  CHECK(all[1].name == "busy \"odd\" name #1");
  CHECK(all[1].cpu_ns == 687'490'000);
  CHECK(all[1].state == State::runnable);
  CHECK(all[1].frames.size() == 2);
  CHECK(all[2].cpu_ns == std::nullopt);  // before JDK 11
  CHECK(all[2].state == State::sleeping);
  CHECK(all[3].name == "VM Thread");
  CHECK(all[3].state == State::none);
  CHECK(all[0].id != all[1].id);
  CHECK(is_complete(kDump));
  CHECK_FALSE(is_complete(kDump.substr(0, kDump.size() - 40)));
}

TEST_CASE("a dump that breaks off, at each byte") {
  for (size_t size = 0; size < kDump.size(); ++size) CHECK(threads_in(kDump.substr(0, size)).size() <= 4);
}

TEST_CASE("frames, with modules, without files, of made-up types") {
  check_frame("java.lang.Object.wait(java.base@17.0.15/Native Method)", "java.lang.Object", "wait", "", -2);
  check_frame("java.lang.Thread.run(Thread.java:748)", "java.lang.Thread", "run", "Thread.java", 748);
  check_frame("java.lang.Thread.run(java.base@21/Thread.java:1583)", "java.lang.Thread", "run", "Thread.java", 1583);
  check_frame("a.B.<init>(B.java)", "a.B", "<init>", "B.java", -1);
  check_frame("T$$Lambda$14/0x00007f7a30000a08.run(Unknown Source)", "T$$Lambda", "run", "", -1);
  check_frame("T$$Lambda/0x00007f7a30000a08.run(Unknown Source)", "T$$Lambda", "run", "", -1);
  check_frame("/0x00007f7a30000a08.run(Unknown Source)", "/0x00007f7a30000a08", "run", "", -1);
  check_frame("java.lang.invoke.LambdaForm$MH/0x00007f.invoke(java.base@17.0.15/LambdaForm$MH)", "java.lang.invoke.LambdaForm$MH",
              "invoke", "LambdaForm$MH", -1);
  check_frame("Kt.a test(Kt.kt:1)", "Kt", "a test", "Kt.kt", 1);
  check_frame("a.B.c(B.java:99999999999)", "a.B", "c", "B.java", -1);
  CHECK(is_native("java.lang.Object.wait(Native Method)"));
  CHECK_FALSE(is_native("java.lang.Object.wait(Object.java:1)"));
  for (const char *bad : {"", "(", ")", "()", "a(b)", ".a(b)", "a.(b)", "a.b", "a.b(c"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_frame(bad));
  }
}

TEST_CASE("CPU times with the decimal comma of a locale") {
  const auto all = threads_in("\"t\" #1 prio=5 cpu=395,23ms elapsed=1,28s tid=0x1 nid=0x2 runnable\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].cpu_ns == 395'230'000);
}

TEST_CASE("a name with line ends, and a line that is no thread's") {
  const std::string text =
      "\"one\n\nline\" #13 prio=5 cpu=5.00ms tid=0x1 nid=0x2 runnable\n   java.lang.Thread.State: RUNNABLE\n\tat "
      "a.B.c(B.java:1)\n\n"
      "\"no thread\"\n   java.lang.Thread.State: RUNNABLE\n\n";
  const auto all = threads_in(text);
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "one\n\nline");
  CHECK(all[0].cpu_ns == 5'000'000);
  CHECK(all[0].state == State::runnable);
  CHECK(all[0].frames.size() == 1);
  CHECK(threads_in("\"a\" #1 nid=0x1\n" + text).size() == 1);
}

TEST_CASE("a stack without end is cut") {
  std::string text = "\"t\" tid=0x1 nid=0x2\n   java.lang.Thread.State: RUNNABLE\n";
  for (size_t i = 0; i < ThreadDump::kMaxFrames + 10; ++i) text += "\tat a.B.c(B.java:1)\n";
  const auto all = threads_in(text);
  REQUIRE(all.size() == 1);
  CHECK(all[0].frames.size() == ThreadDump::kMaxFrames);
  CHECK(all[0].is_cut());
}

}  // namespace atalaya::jvm

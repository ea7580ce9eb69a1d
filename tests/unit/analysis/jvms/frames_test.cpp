// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jvms/frames.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::jvms {
namespace {

TEST_CASE("jvms: frames, leaf first") {
  CHECK(frames_of("a;b;c") == std::vector<std::string_view>{"c", "b", "a"});
  CHECK(frames_of("a") == std::vector<std::string_view>{"a"});
  CHECK(frames_of(";a;;b;") == std::vector<std::string_view>{"b", "a"});
  CHECK(frames_of("").empty());
}

TEST_CASE("jvms: a function has one name, however it is written") {
  const std::string name = "java.lang.System identityHashCode";
  CHECK(function_named("java.lang.System.identityHashCode") == name);
  CHECK(function_named(name) == name);
  CHECK(function_named("main") == "main");
  CHECK(function_named("Main.<init>") == "Main <init>");
  CHECK(dump_function("java.lang.System.identityHashCode_[j]") == name);
  CHECK(dump_function("Main$$Lambda$14/0x00000008000ca000.run_[j]") == "Main$$Lambda run");
  CHECK(cpu_place("main;int Main$$Lambda$43/0x00007ff3a00acb38.run()_[j]")->function == "Main$$Lambda run");
  CHECK(cpu_place("main;Main$$Lambda$43/0x00007ff3a00acb38::run_[j]")->function == "Main$$Lambda run");
  CHECK(dump_function("[stack lost]") == "[stack lost]");
  CHECK(dump_function("[other]") == "[other]");
  for (const char *frame : {"int java.lang.System.identityHashCode(java.lang.Object)_[j]",
                            "Ljava/lang/System:::identityHashCode_[j]", "java/lang/System:::identityHashCode_[i]",
                            "java.lang.System::identityHashCode_[j]", "java.lang.System.identityHashCode_[j]"}) {
    const std::string text(frame);
    INFO(text);
    const auto place = cpu_place("start_thread;" + text);
    REQUIRE(place);
    CHECK(place->function == name);
  }
}

TEST_CASE("jvms: where Java was in a sample of a CPU") {
  const std::string begin = "start_thread;JavaMain;StubRoutines (1)_[j];";
  const auto place = [&](const std::string &rest) { return cpu_place(begin + rest).value_or(Place{"none", ""}); };
  CHECK(place("void A.main(String[])_[j];int B.work()_[j]").function == "B work");
  CHECK(place("void A.main(String[])_[j];int B.work()_[j]").caller == "A main");
  CHECK(place("int B.work()_[j];JVM_IHashCode;do_futex_[k]").function == "B work");
  CHECK(place("int B.work()_[j];vtable stub_[j]").function == "B work");
  CHECK(place("int B.work()_[j]").caller.empty());
  CHECK(place("Interpreter_[j];Interpreter_[j]").function == kInterpreted);
  CHECK(place("Interpreter_[j];int B.work()_[j]").caller == kInterpreted);
  CHECK(place("int B.work()_[j];Interpreter_[j]").function == kInterpreted);
  CHECK(place("CompileBroker::compiler_thread_loop()").function == "none");
  CHECK_FALSE(cpu_place(""));
  CHECK_FALSE(cpu_place("main;work"));
}

TEST_CASE("jvms: a function that calls itself is called by another one") {
  const auto dump = dump_place("A.main_[j];A.run_[j];B.fib_[j];B.fib_[j];B.fib_[j]");
  REQUIRE(dump);
  CHECK(dump->function == "B fib");
  CHECK(dump->caller == "A run");
  CHECK(dump_place("B.fib_[j];B.fib_[j]")->caller.empty());
  CHECK_FALSE(dump_place(""));
  CHECK(cpu_place("int A.run()_[j];int B.fib(int)_[j];int B.fib(int)_[j]")->caller == "A run");
}

TEST_CASE("jvms: stacks that only JVMs have") {
  CHECK(belongs_to_jvm("start_thread;JavaMain;int A.b()_[j]"));
  CHECK(belongs_to_jvm("[libjvm.so]"));
  CHECK(belongs_to_jvm("Interpreter_[j]"));
  CHECK_FALSE(belongs_to_jvm("start_thread;int A.b()_[j]"));
  CHECK_FALSE(belongs_to_jvm("main;LazyCompile:*work_[j]"));
}

TEST_CASE("jvms: the lines of a trace") {
  const std::string line = "java.lang.System identityHashCode (System.java:-2)";
  CHECK(trace_line(line) == line);
  CHECK(trace_line("java.lang.System.identityHashCode (System.java:-2)") == line);
  CHECK(trace_line("Main.<init> (Unknown Source)") == "Main <init> (Unknown Source)");
  CHECK(trace_line("Main.run") == "Main run");
}

}  // namespace
}  // namespace atalaya::jvms

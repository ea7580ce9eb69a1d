// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/class.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace atalaya::flamegraph {
namespace {

constexpr ProcessTraits kAlone{}, kJvm{.jvm = true, .managed = true}, kNode{.jvm = false, .managed = true};

TEST_CASE("the kernel is the kernel, in any company") {
  for (const ProcessTraits &traits : {kAlone, kJvm, kNode}) {
    CHECK(class_of("do_syscall_64_[k]", traits) == Class::kernel);
    CHECK(class_of("[kernel]_[k]", traits) == Class::kernel);
  }
}

TEST_CASE("a placeholder for unknown frames is none of the three") {
  for (const char *name : {"[unwind failed]", "[truncated]", "[stack lost]", "[unknown]"})
    CHECK(class_of(name, kJvm) == Class::unknown);
}

TEST_CASE("a stack ends early where the first frame of its process marks that") {
  Tree tree;
  tree.add(tree.add_stack("h;a-1;[unwind failed];f"), Side::shown, 3);
  tree.add(tree.add_stack("h;a-1;[stack lost]"), Side::shown, 2);
  tree.add(tree.add_stack("h;b-2;main;[unknown]"), Side::shown, 4);
  tree.add(tree.add_stack("h;b-2;[truncated];g"), Side::before, 8);
  tree.add(tree.add_stack("h;java-3;[unwind failed];W.work_[j]"), Side::shown, 7);
  tree.finish();
  const EarlyEnds early = early_ends(tree, Classes(tree, 2), 2);
  CHECK(early.all == 12);
  CHECK(early.jvms == 7);
  CHECK(early_ends(tree, Classes(tree, 1), 1).all == 0);
}

TEST_CASE("in a JVM: Java is the application, HotSpot manages, libraries are system") {
  CHECK(class_of("java.lang.String::hashCode_[i]", kJvm) == Class::inlined);
  for (const char *name : {"Interpreter_[j]", "Interpreter"}) CHECK_MESSAGE(class_of(name, kJvm) == Class::interpreter, name);
  for (const char *name :
       {"long W.fib(int)_[j]", "Lorg/x/Y:::m", "java/lang/Thread.run", "void java.lang.Thread.run()", "W.<init>"})
    CHECK_MESSAGE(class_of(name, kJvm) == Class::application, name);
  for (const char *name :
       {"JavaThread::run", "[libjvm.so]", "JavaMain", "StubRoutines (1)_[j]", "G1ParEvacuateFollowersClosure::do_void()"})
    CHECK_MESSAGE(class_of(name, kJvm) == Class::runtime, name);
  for (const char *name : {"start_thread", "memcpy", "[libc.so.6]", "deflate.part.0", "inflate.cold", "epoll_wait"})
    CHECK_MESSAGE(class_of(name, kJvm) == Class::system, name);
}

TEST_CASE("the file of a frame decides, whatever its name and its company are") {
  for (const ProcessTraits &traits : {kAlone, kJvm, kNode}) {
    for (const char *name :
         {"os_work_[libjvm.so]", "JavaThread::run_[libjvm.so]", "fread_[libjava.so]", "PyEval_[libpython3.11.so.1.0]"})
      CHECK_MESSAGE(class_of(name, traits) == Class::runtime, name);
    for (const char *name : {"malloc_[libc.so.6]", "a::b_[libstdc++.so.6]", "deflate_[libz.so.1]", "java.x_[libc.so.6]"})
      CHECK_MESSAGE(class_of(name, traits) == Class::system, name);
  }
  CHECK(module_of("malloc_[libc.so.6]") == "libc.so.6");
  for (const char *name : {"malloc", "do_[k]", "f_[j]", "[libc.so.6]", "a::operator[]", "f_[a]::g[]", "f_[]", "", "]", "_[x.so]"})
    CHECK_MESSAGE(module_of(name).empty(), name);
  CHECK(is_jvm_own("os_work_[libjvm.so]"));
}

TEST_CASE("where another runtime made code, native code manages it") {
  CHECK(class_of("LazyCompile:*f /x.js:1_[j]", kNode) == Class::application);
  CHECK(class_of("v8::internal::Heap::CollectGarbage", kNode) == Class::runtime);
  CHECK(class_of("uv_run", kNode) == Class::system);
}

TEST_CASE("in a separate program, native code is the application") {
  for (const char *name : {"main", "shop::Cart::thirty(int)", "std::sort", "[shares]", "f.part.0"})
    CHECK_MESSAGE(class_of(name, kAlone) == Class::application, name);
  for (const char *name : {"_start", "__libc_start_main", "start_thread", "clone3", "[libc.so.6]", "[vdso]", "_dl_relocate_object"})
    CHECK_MESSAGE(class_of(name, kAlone) == Class::system, name);
}

TEST_CASE("a process is one by its frames, whichever come first") {
  Tree tree;
  const uint32_t native = tree.add_stack("java-1;start_thread;VMThread::loop");
  const uint32_t node = tree.add_stack("node-2;v8::Run");
  tree.add_stack("node-2;v8::Run;~f_[j]");
  const uint32_t app = tree.add_stack("shop-3;main;Cart::x");
  const uint32_t service = tree.add_stack("jsvc-4;start_thread;thread_native_entry;GCTaskThread::run");
  const Classes classes(tree, 1);
  CHECK(classes.class_at(0) == Class::group);
  CHECK(classes.class_at(tree.add_stack("java-1")) == Class::group);
  CHECK(classes.class_at(native) == Class::runtime);
  CHECK(classes.class_at(node) == Class::runtime);
  CHECK(classes.class_at(app) == Class::application);
  CHECK(classes.class_at(service) == Class::runtime);
  CHECK(classes.in_jvm(native));
  CHECK(classes.in_jvm(service));
  CHECK(!classes.in_jvm(node));
  CHECK(!classes.in_jvm(app));
}

TEST_CASE("below hosts, processes are distinguished as well") {
  Tree tree;
  const uint32_t java = tree.add_stack("h1;java-1;memcpy");
  const uint32_t native = tree.add_stack("h1;shop-1;memcpy");
  const Classes classes(tree, 2);
  CHECK(classes.class_at(tree.add_stack("h1;java-1")) == Class::group);
  CHECK(classes.class_at(java) == Class::system);
  CHECK(classes.class_at(native) == Class::application);
  CHECK(!classes.in_jvm(tree.add_stack("h1")));
}

}  // namespace
}  // namespace atalaya::flamegraph

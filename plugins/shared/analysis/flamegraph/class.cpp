// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/class.h"

#include <algorithm>
#include <array>

namespace atalaya::flamegraph {
namespace {

template <size_t Size>
bool starts_with_any_of(std::string_view text, const std::array<std::string_view, Size> &beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view one) { return text.starts_with(one); });
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns true for code that HotSpot generates, by its names in perf maps.
bool is_stub(std::string_view name) {
  constexpr std::array<std::string_view, 14> kStubs = {
      "Interpreter",        "StubRoutines", "RuntimeStub",   "vtable",        "itable",       "I2C/C2I",     "MethodHandles",
      "DeoptimizationBlob", "UncommonTrap", "ExceptionBlob", "SafepointBlob", "flush_icache", "AdapterBlob", "native signature"};
  return starts_with_any_of(name, kStubs);
}

// Java classes in the notation of perf-map-agent and async-profiler, without a suffix.
bool is_java_path(std::string_view name) {
  if (contains(name, ":::")) return true;
  if (name.starts_with('L')) name.remove_prefix(1);
  constexpr std::array<std::string_view, 8> kPackages = {"java/", "javax/", "jdk/", "net/", "org/", "com/", "io/", "sun/"};
  return starts_with_any_of(name, kPackages);
}

// "long W.fib(int)", the notation of JDK 17 and later: a dot between words. C compilers use dots only before suffixes such as
// ".isra.0".
bool is_java_dotted(std::string_view name) {
  name = name.substr(0, name.find('('));
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size() || contains(name, "::")) return false;
  constexpr std::array<std::string_view, 6> kMarks = {"part.", "isra.", "constprop.", "cold", "lto_priv", "llvm."};
  const std::string_view last = name.substr(dot + 1);
  return !(last.front() >= '0' && last.front() <= '9') && !starts_with_any_of(last, kMarks);
}

// First functions of threads, and functions of the C library with names reserved for it.
bool is_c_library(std::string_view name) {
  constexpr std::array<std::string_view, 4> kThreads = {"_start", "start_thread", "clone", "clone3"};
  return std::find(kThreads.begin(), kThreads.end(), name) != kThreads.end() || name.starts_with("__") || name.starts_with("_dl_");
}

// Placeholder frames for the missing callers of an incomplete stack.
constexpr std::array<std::string_view, 3> kEarlyEnds = {"[unwind failed]", "[truncated]", "[stack lost]"};

bool is_early_end(std::string_view name) {
  return std::find(kEarlyEnds.begin(), kEarlyEnds.end(), name) != kEarlyEnds.end();
}

// "[libc.so.6]": an unknown function in that file.
Class file_class(std::string_view name, const ProcessTraits &traits) {
  if (is_early_end(name) || name == "[unknown]") return Class::unknown;
  if (name == "[libjvm.so]") return Class::runtime;
  const bool library = contains(name, ".so") || name == "[vdso]" || name == "[kernel]";
  return library || traits.managed ? Class::system : Class::application;
}

bool is_made(std::string_view frame) {
  return frame.ends_with("_[j]") || frame.ends_with("_[i]");
}

constexpr std::string_view kModule = "_[";

// Files of language runtimes. The C library is excluded, because each process has it.
bool is_runtime(std::string_view module) {
  constexpr std::array<std::string_view, 17> kRuntimes = {
      "libjvm.", "libjli.",   "libjava.", "libverify.", "libnio.", "libnet.",    "libzip.", "libjimage.", "libjsvml.",
      "libj9",   "libpython", "libruby",  "libcoreclr", "libmono", "libnode.so", "libperl", "libphp"};
  return starts_with_any_of(module, kRuntimes);
}

Class module_class(std::string_view module) {
  return is_runtime(module) ? Class::runtime : Class::system;
}

Class generated_class(std::string_view frame) {
  if (frame.starts_with("Interpreter")) return Class::interpreter;
  return is_stub(frame) ? Class::runtime : frame.ends_with("_[i]") ? Class::inlined : Class::application;
}

}  // namespace

std::string_view module_of(std::string_view frame) {
  if (!frame.ends_with(']')) return {};
  const size_t begin = frame.rfind(kModule);
  if (begin == std::string_view::npos || begin == 0) return {};
  const std::string_view module = frame.substr(begin + kModule.size(), frame.size() - begin - kModule.size() - 1);
  const bool is_name = module.find_first_of("[]") == std::string_view::npos;
  return is_name && module.size() > 1 ? module : std::string_view();  // a name of one letter is a class, not a module
}

bool is_application(Class kind) {
  return kind == Class::application || kind == Class::inlined;
}

bool is_jvm_own(std::string_view name) {
  constexpr std::array<std::string_view, 8> kBeginnings = {"JavaMain",    "JavaThread::",  "JavaCalls::", "thread_native_entry",
                                                           "[libjvm.so]", "CompileBroker", "JLI_",        "JVM_"};
  return starts_with_any_of(name, kBeginnings) || module_of(name).starts_with("libjvm.");
}

Class class_of(std::string_view frame, const ProcessTraits &traits) {
  if (frame.ends_with("_[k]")) return Class::kernel;
  if (const std::string_view module = module_of(frame); !module.empty()) return module_class(module);
  if (is_made(frame) || (is_stub(frame) && traits.jvm) || is_java_path(frame)) return generated_class(frame);
  if (frame.starts_with('[') && frame.ends_with(']')) return file_class(frame, traits);
  if (traits.jvm && is_java_dotted(frame)) return Class::application;
  if (traits.managed) return contains(frame, "::") || is_jvm_own(frame) ? Class::runtime : Class::system;
  return is_c_library(frame) ? Class::system : Class::application;
}

Classes::Classes(const Tree &tree, uint32_t group_depth)
    : process_(tree.size()), traits_(tree.size()), classes_(tree.size(), Class::group) {
  for (uint32_t i = 1; i < tree.size(); ++i) {
    const Node &node = tree.node(i);
    const std::string_view name = tree.name(i);
    process_[i] = node.depth <= group_depth ? i : process_[node.parent];
    ProcessTraits &traits = traits_[process_[i]];
    const bool java = node.depth == group_depth && (name == "java" || name.starts_with("java-"));
    if (java || is_jvm_own(name)) traits.jvm = true;
    if (traits.jvm || is_made(name) || is_java_path(name)) traits.managed = true;
  }
  for (uint32_t i = 1; i < tree.size(); ++i)
    if (tree.node(i).depth > group_depth) classes_[i] = class_of(tree.name(i), traits_[process_[i]]);
}

EarlyEnds early_ends(const Tree &tree, const Classes &classes, uint32_t group_depth) {
  EarlyEnds sum;
  for (uint32_t i = 1; i < tree.size(); ++i) {
    if (tree.node(i).depth != group_depth + 1 || !is_early_end(tree.name(i))) continue;
    sum.all += tree.node(i).shown();
    if (classes.in_jvm(i)) sum.jvms += tree.node(i).shown();
  }
  return sum;
}

void filter_class(Tree &tree, const Classes &classes, std::string_view kept) {
  tree.keep([&](uint32_t node) {
    if (kept == "jvm") return classes.in_jvm(node);
    if (kept == "kernel") return tree.name(node).ends_with("_[k]");
    return is_application(classes.class_at(node));
  });
}

}  // namespace atalaya::flamegraph

// SPDX-License-Identifier: Apache-2.0
// One name for a Java function in all notations of profiles: "java.lang.System identityHashCode", class and method. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::jvms {

// The frames of "a;b;c" (root first), leaf first.
std::vector<std::string_view> frames_of(std::string_view folded);

// Accepts "java.lang.System identityHashCode" and "java.lang.System.identityHashCode".
std::string function_named(std::string_view name);
// For a frame of a thread dump: "java.lang.System.identityHashCode_[j]". Placeholders of unknown frames are unchanged.
std::string dump_function(std::string_view frame);

// The innermost Java function and its caller, the next other function outwards: a recursive function is not its caller.
struct Place {
  std::string function, caller;  // caller "": the thread started with the function
};
// For a thread dump. Nothing: no frames.
std::optional<Place> dump_place(std::string_view folded);
inline constexpr std::string_view kInterpreted = "[interpreted]";  // a function that the JVM had not compiled
// For a CPU sample, including native and kernel code that the function called. Nothing: not in Java. Frames have the form of
// source perf: "long W.fib(int)_[j]".
std::optional<Place> cpu_place(std::string_view folded);
// The stack has a frame of the JVM or of Java code in the notation of JVMs.
bool belongs_to_jvm(std::string_view folded);

// "java.lang.System identityHashCode (System.java:-2)" of a frame of an exemplar, which may have a dot instead of the first
// blank.
std::string trace_line(std::string_view frame);

}  // namespace atalaya::jvms

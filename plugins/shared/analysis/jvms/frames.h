// SPDX-License-Identifier: Apache-2.0
// Converts the notations of Java functions in profiles to one: "java.lang.System identityHashCode", class and method. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::jvms {

// Splits "a;b;c" (root first) into frames, leaf first.
std::vector<std::string_view> frames_of(std::string_view folded);

// Converts a name that a user wrote: "java.lang.System identityHashCode" or "java.lang.System.identityHashCode".
std::string function_named(std::string_view name);
// Converts a frame of a thread dump, such as "java.lang.System.identityHashCode_[j]". Placeholders of unknown frames are unchanged.
std::string dump_function(std::string_view frame);

// The innermost Java function of a stack, and its caller: the nearest frame outwards of another function.
struct Place {
  std::string function, caller;  // caller "": the thread started with the function
};
// Returns the place of a stack of a thread dump; nothing if it has no frames.
std::optional<Place> dump_place(std::string_view folded);
inline constexpr std::string_view kInterpreted = "[interpreted]";  // a function that the JVM had not compiled
// Returns the place of a CPU sample; native and kernel code counts to the Java function that called it. Nothing if the stack has no
// Java function. Frames have the notation of the source perf: "long W.fib(int)_[j]".
std::optional<Place> cpu_place(std::string_view folded);
// Returns true if the stack has a frame of the JVM, or of Java code in the notation of JVMs.
bool belongs_to_jvm(std::string_view folded);

// Formats a frame of an exemplar: "java.lang.System identityHashCode (System.java:-2)". The input may have a dot instead of the
// first blank.
std::string trace_line(std::string_view frame);

}  // namespace atalaya::jvms

// SPDX-License-Identifier: Apache-2.0
// One name for a Java function, however a profile writes it: "java.lang.System identityHashCode", class and method. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::jvms {

// "a;b;c", root first, as its frames, leaf first.
std::vector<std::string_view> frames_of(std::string_view folded);

// What an operator writes: "java.lang.System identityHashCode" or "java.lang.System.identityHashCode".
std::string function_named(std::string_view name);
// Of a frame of a thread dump: "java.lang.System.identityHashCode_[j]". What stands for frames that are not known stays as it is.
std::string function_of_dump(std::string_view frame);

// Where Java was: the innermost function, and the first other one outwards. A function that calls itself is not its own caller.
struct Place {
  std::string function, caller;  // caller "": the thread began with the function
};
// Of a thread dump. Nothing: it has no frame.
std::optional<Place> place_of_dump(std::string_view folded);
inline constexpr std::string_view kInterpreted = "[interpreted]";  // a function that the JVM had not compiled
// Of a sample of a CPU, whatever native or kernel code the function had called. Nothing: it was not in Java. Frames as source perf
// writes them: "long W.fib(int)_[j]".
std::optional<Place> place_of_cpu(std::string_view folded);
// A frame in it is the JVM's own, or Java as only a JVM writes it.
bool is_of_jvm(std::string_view folded);

// "java.lang.System identityHashCode (System.java:-2)" of a frame of an exemplar, which may have a dot in the place of the first
// blank.
std::string trace_line(std::string_view frame);

}  // namespace atalaya::jvms

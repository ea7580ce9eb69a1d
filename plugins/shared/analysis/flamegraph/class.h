// SPDX-License-Identifier: Apache-2.0
// The class of a frame, by its module, its name and its process: the colours of the reference's flame graphs, and more.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

enum class Class : uint8_t {
  group,        // no code: the root, a host, a process
  application,  // code of the program
  inlined,      // the same, inlined into its caller
  runtime,      // of a JVM or another runtime: its compilers and collectors
  interpreter,  // of a JVM
  system,       // libraries
  kernel,
  unknown,  // placeholders of unknown frames
};

// Facts from the other frames of the process.
struct ProcessTraits {
  bool jvm = false;      // it is a JVM
  bool managed = false;  // a runtime generated code in it: its native frames are not the application
};

// "libc.so.6" of malloc_[libc.so.6]: the file that a source has kept with the frame; empty: none, or it is the program's own.
std::string_view module_of(std::string_view frame);

Class class_of(std::string_view frame, const ProcessTraits &traits);
bool is_application(Class kind);
// A frame that only JVM processes have, and that is not Java.
bool is_jvm_own(std::string_view frame);

// Of each node. Nodes up to `group_depth` are groups; those of that depth are processes.
class Classes {
 public:
  Classes(const Tree &tree, uint32_t group_depth);
  Class of(uint32_t node) const { return classes_[node]; }
  bool in_jvm(uint32_t node) const { return traits_[process_[node]].jvm; }

 private:
  std::vector<uint32_t> process_;  // the process of each node: itself, or one above it; nodes above processes are their own
  std::vector<ProcessTraits> traits_;
  std::vector<Class> classes_;
};

// The sum of values whose stacks end before the first function of their thread, of all processes and of JVMs.
struct EarlyEnds {
  double all = 0, jvms = 0;
};
EarlyEnds early_ends(const Tree &tree, const Classes &classes, uint32_t group_depth);

// Keeps the stacks of JVMs ("jvm"), those with application code ("app"), or those with kernel code ("kernel").
void filter_class(Tree &tree, const Classes &classes, std::string_view kept);

}  // namespace atalaya::flamegraph

// SPDX-License-Identifier: Apache-2.0
// Classifies a frame by its module, its name and its process. Each class has a colour in the flame graph.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

enum class Class : uint8_t {
  group,        // no code: the root, a host, a process
  application,  // code of the program
  inlined,      // code of the program that is inlined into its caller
  runtime,      // compilers and garbage collectors of a JVM or another runtime
  interpreter,  // the interpreter of a JVM
  system,       // libraries
  kernel,
  unknown,  // placeholders of unknown frames
};

// Facts about a process, from all of its frames.
struct ProcessTraits {
  bool jvm = false;      // the process is a JVM
  bool managed = false;  // a runtime generated code in it, so its native frames are not application code
};

// Returns the file of a library frame: "libc.so.6" of malloc_[libc.so.6]; empty for the program's own code.
std::string_view module_of(std::string_view frame);

Class class_of(std::string_view frame, const ProcessTraits &traits);
bool is_application(Class kind);
// Returns true for a frame of the JVM's own code, which no other process has.
bool is_jvm_own(std::string_view frame);

// The class of each node. Nodes up to `group_depth` are groups; those at `group_depth` are processes.
class Classes {
 public:
  Classes(const Tree &tree, uint32_t group_depth);
  Class class_at(uint32_t node) const { return classes_[node]; }
  bool in_jvm(uint32_t node) const { return traits_[process_[node]].jvm; }

 private:
  std::vector<uint32_t> process_;  // the process node of each node; of nodes above processes: the node itself
  std::vector<ProcessTraits> traits_;
  std::vector<Class> classes_;
};

// The sum of the values of incomplete stacks, which lack the first function of their thread: of all processes, and of JVMs.
struct EarlyEnds {
  double all = 0, jvms = 0;
};
EarlyEnds early_ends(const Tree &tree, const Classes &classes, uint32_t group_depth);

// Keeps the stacks of JVMs ("jvm"), those with application code ("app"), or those with kernel code ("kernel").
void filter_class(Tree &tree, const Classes &classes, std::string_view kept);

}  // namespace atalaya::flamegraph

// SPDX-License-Identifier: Apache-2.0
// What a frame is, by its name and the company it keeps: the three colours of the reference's flame graphs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

enum class Class : uint8_t {
  group,        // no code: everything, a host, a process
  application,  // code of the program
  runtime,      // a JVM's, or another runtime's, own: its compilers, collectors, interpreter
  system,       // the kernel, and system libraries
  unknown,      // what stands for frames that nobody knows
};

// What the other frames of its process say.
struct Company {
  bool jvm = false;      // it is a JVM
  bool managed = false;  // a runtime made code in it: what is native there is not the application
};

Class class_of(std::string_view frame, const Company &company);
// A frame that only the processes of JVMs have, and that is no Java.
bool is_jvm_own(std::string_view frame);

// How much of what is shown ends before the function that its thread began with.
double early_end(const Tree &tree, uint32_t group_depth);

// Of each node. Nodes to `group_depth` are groups, those of that depth processes.
class Classes {
 public:
  Classes(const Tree &tree, uint32_t group_depth);
  Class of(uint32_t node) const { return classes_[node]; }
  bool in_jvm(uint32_t node) const { return companies_[process_[node]].jvm; }

 private:
  std::vector<uint32_t> process_;  // the process of each node: itself, or one above it; those above are their own
  std::vector<Company> companies_;
  std::vector<Class> classes_;
};

}  // namespace atalaya::flamegraph

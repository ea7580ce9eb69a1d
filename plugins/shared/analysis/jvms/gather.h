// SPDX-License-Identifier: Apache-2.0
// Reads data about JVMs and their CPU time from a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::jvms {

// A JVM, identified by host and pid. Unknown values are absent or empty.
struct Jvm {
  std::string host, pid, process;
  std::optional<double> rate;  // thread dumps per second during profiling
  std::optional<double> cost;  // cost of thread dumps, per cent of a core
  std::string version, vm, collector, flags;
};

// The time of a Java function over all JVMs, by both profiles: `self` (CPU seconds per second) from thread dumps, `samples` from
// CPU samples. Shares are of all time in Java.
struct Function {
  std::string name;
  std::optional<double> self, self_share;
  std::optional<double> samples, samples_share;
};

struct Overview {
  store::Range range;
  double covered_seconds = 0;                              // part of the range with at least one profiled JVM
  std::vector<Jvm> jvms;                                   // by number of thread dumps, largest first
  size_t reporting = 0;                                    // number of profiled JVMs
  double rate = 0;                                         // thread dumps per second of all JVMs
  std::vector<Function> functions;                         // by CPU samples, then by thread dumps
  std::optional<double> unattributed, unattributed_share;  // CPU time of threads outside of the reported functions
  double java_samples = 0, other_samples = 0;              // CPU samples in Java, and in the JVM itself
};

struct Caller {
  std::string name;                                 // "": no caller, a thread starts with the function
  std::optional<double> self_share, samples_share;  // share of the function's time with this caller
};
struct Exemplar {
  std::string host, pid, process;
  std::vector<std::string> lines;  // leaf first
  double share = 0;                // share of the time of all exemplars of the function
};
struct JvmShare {
  std::string host, pid, process;
  double self = 0;  // seconds per second
};
struct Detail {
  Function function;
  std::optional<Exemplar> exemplar;
  std::vector<Caller> callers;  // largest share first
  std::vector<JvmShare> jvms;   // largest share first
};

// Throws query::Wrong and TooMuch, store::Error.
Overview overview_of(store::Store &store, const std::vector<store::TagFilter> &tags, const store::Range &range,
                     query::Budget &budget);
// Returns the `count` functions with the most time by thread dumps, and those by CPU samples, because each profile has a bias that
// hides functions.
std::vector<Function> top_functions(const std::vector<Function> &functions, size_t count);
// Returns the details of one function of the overview.
Detail detail_of(const Function &function, const Overview &overview, store::Store &store, const std::vector<store::TagFilter> &tags,
                 query::Budget &budget);

}  // namespace atalaya::jvms

// SPDX-License-Identifier: Apache-2.0
// What a store knows of JVMs and of where their time went.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::jvms {

// By host and number. What is not known is absent, or an empty text.
struct Jvm {
  std::string host, pid, process;
  std::optional<double> rate;  // thread dumps a second, while it was profiled
  std::optional<double> cost;  // of them, per cent of a core
  std::string version, vm, collector, flags;
};

// Of thread dumps: CPU seconds in a second, over all JVMs. Of a CPU: samples. The shares are of all that was in Java.
struct Function {
  std::string name;
  std::optional<double> self, self_share;
  std::optional<double> samples, samples_share;
};

struct Overview {
  store::Range range;
  double covered_seconds = 0;  // in which any JVM was profiled
  std::vector<Jvm> jvms;       // those that took most dumps first
  size_t reporting = 0;        // of these, those that were profiled
  double rate = 0;             // thread dumps a second, all together
  std::vector<Function> functions;
  double java_samples = 0, other_samples = 0;  // of CPUs: in Java, and in what is the JVM's own
};

struct Caller {
  std::string name;                                 // "": threads begin with the function
  std::optional<double> self_share, samples_share;  // of the function's
};
struct Exemplar {
  std::string host, pid, process;
  std::vector<std::string> lines;  // leaf first
  double share = 0;                // of what all exemplars of the function add up to
};
struct InJvm {
  std::string host, pid, process;
  double self = 0;  // seconds in a second
};
struct Detail {
  Function function;
  std::optional<Exemplar> exemplar;
  std::vector<Caller> callers;  // the dominant one first
  std::vector<InJvm> jvms;      // the same
};

// Throws query::Wrong and TooMuch, store::Error.
Overview overview_of(store::Store &store, const std::vector<store::TagFilter> &tags, const store::Range &range,
                     query::Budget &budget);
// Those that are among the first `count` by thread dumps, or by samples: what the bias of the one hides, the other shows.
std::vector<Function> first_of(const std::vector<Function> &functions, size_t count);
// Of one function of the overview.
Detail detail_of(const Function &function, const Overview &overview, store::Store &store, const std::vector<store::TagFilter> &tags,
                 query::Budget &budget);

}  // namespace atalaya::jvms

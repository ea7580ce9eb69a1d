// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jvms/gather.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "plugins/shared/analysis/jvms/frames.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/pieces.h"
#include "plugins/shared/store/query/usage.h"

namespace atalaya::jvms {
namespace {

using query::Usage;
using Key = std::pair<std::string, std::string>;  // host and pid

const std::vector<std::string> kByJvm = {"host", "pid", "process"};

using store::tag_of;

Key key_of(const store::Tags &tags) {
  return {tag_of(tags, "host"), tag_of(tags, "pid")};
}

// The share of threads in thread dumps that was on a CPU, for dumps that include waiting threads.
double cpu_ns(const store::Stack &stack) {
  const bool has_part =
      std::any_of(stack.fields.begin(), stack.fields.end(), [](const store::Field &field) { return field.name == "profile.cpu"; });
  return store::field_of(stack.fields, has_part ? "profile.cpu" : "profile.ns");
}

// Series of a metric; empty if the store does not have it.
std::vector<Usage> usage_of(const char *metric, const std::vector<std::string> &by, store::Store &store,
                            const std::vector<store::TagFilter> &tags, const store::Range &range, query::Budget &budget) {
  try {
    return query::usage_of({metric}, tags, by, range, store, budget);
  } catch (const query::UnknownMetric &) {
    return {};
  }
}

store::Selection profile_of(const char *profile, std::vector<store::TagFilter> tags, const store::Range &range) {
  tags.push_back({"profile", {profile}});
  return {{}, std::move(tags), range};
}
store::Selection dumps_of(const char *profile, const std::vector<store::TagFilter> &tags, const store::Range &range) {
  store::Selection selection = profile_of(profile, tags, range);
  selection.tags.push_back({"bias", {"safepoint"}});
  return selection;
}

// Sums of CPU samples by function. Stacks repeat in every window: each text is parsed once.
class CpuSamples {
 public:
  // Adds known JVMs; other JVMs are recognised by their stacks.
  CpuSamples(const std::vector<Jvm> &jvms, query::Budget &budget) : budget_(budget) {
    for (const Jvm &jvm : jvms) known_.emplace(jvm.host, jvm.pid);
  }
  ~CpuSamples() { budget_.release(held_); }
  CpuSamples(const CpuSamples &) = delete;
  CpuSamples &operator=(const CpuSamples &) = delete;

  void read(store::Store &store, const std::vector<store::TagFilter> &tags, const store::Range &range) {
    store.stacks(profile_of("cpu", tags, range), [&](const store::Stack &stack) {
      budget_.work(1);
      const double samples = store::field_of(stack.fields, "profile.samples");
      if (samples <= 0) return;
      const auto [kind, is_new_stack] = stacks_.try_emplace(stack.number);
      if (is_new_stack) {
        hold();
        kind->second = {cpu_place(stack.folded), belongs_to_jvm(stack.folded)};
      }
      const auto [process, is_new_process] = processes_.try_emplace(stack.entity);
      if (is_new_process) process->second.is_jvm = known_.contains(key_of(stack.tags));
      process->second.is_jvm = process->second.is_jvm || kind->second.belongs_to_jvm;
      const auto [sum, is_new] = process->second.samples.try_emplace(stack.number, 0.0);
      if (is_new) hold();
      sum->second += samples;
    });
  }

  // Sums over all JVMs; Place is nothing for samples outside Java.
  template <class Visitor>
  void visit(Visitor &&visitor) const {
    for (const auto &[entity, process] : processes_) {
      if (!process.is_jvm) continue;
      for (const auto &[stack, samples] : process.samples) visitor(stacks_.at(stack).place, samples);
    }
  }

 private:
  struct Kind {
    std::optional<Place> place;
    bool belongs_to_jvm = false;
  };
  struct Process {
    bool is_jvm = false;
    std::unordered_map<int64_t, double> samples;  // by id of the stack
  };
  void hold() {
    budget_.reserve(1);
    ++held_;
  }

  query::Budget &budget_;
  size_t held_ = 0;
  std::set<Key> known_;
  std::unordered_map<int64_t, Kind> stacks_;
  std::unordered_map<int64_t, Process> processes_;
};

// The pids and names of JVMs in their last window.
class Jvms {
 public:
  void add(const std::vector<Usage> &usages, std::optional<double> Jvm::*member) {
    for (const Usage &usage : usages) {
      Known &known = jvms_[key_of(usage.tags)];
      if (usage.covered.end_ns() >= known.last_ns) {
        known.last_ns = usage.covered.end_ns();
        known.jvm.process = tag_of(usage.tags, "process");
      }
      std::tie(known.jvm.host, known.jvm.pid) = key_of(usage.tags);
      if (member == nullptr) continue;
      Sum &sum = known.sums[member == &Jvm::rate ? 0 : 1];
      sum.value += usage.amount;
      sum.covered.add(usage.covered);
    }
  }
  // Spans are sorted by start; the last one is used.
  void add_facts(store::Store &store, const std::vector<store::TagFilter> &tags, const store::Range &range, query::Budget &budget) {
    store.spans({{"jvm"}, tags, range}, [&](const store::Span &span) {
      budget.work(1);
      const auto found = jvms_.find(key_of(span.tags));
      if (found == jvms_.end()) return;
      Jvm &jvm = found->second.jvm;
      jvm.version = tag_of(span.tags, "version");
      jvm.vm = tag_of(span.tags, "vm");
      jvm.collector = tag_of(span.tags, "collector");
      jvm.flags = tag_of(span.tags, "flags");
    });
  }
  std::vector<Jvm> result() const {
    std::vector<Jvm> all;
    for (const auto &[key, known] : jvms_) {
      all.push_back(known.jvm);
      all.back().rate = known.sums[0].average();
      all.back().cost = known.sums[1].average();
    }
    std::stable_sort(all.begin(), all.end(), [](const Jvm &a, const Jvm &b) { return a.rate.value_or(-1) > b.rate.value_or(-1); });
    return all;
  }

 private:
  struct Sum {
    double value = 0;
    query::Coverage covered;
    std::optional<double> average() const {
      if (covered.length_ns() == 0) return std::nullopt;
      return value * 1e9 / static_cast<double>(covered.length_ns());
    }
  };
  struct Known {
    Jvm jvm;
    int64_t last_ns = 0;
    Sum sums[2];  // sums of the rate and of the cost
  };
  std::map<Key, Known> jvms_;
};

double sum_of(const std::vector<Usage> &usages) {
  double sum = 0;
  for (const Usage &usage : usages) sum += usage.amount;
  return sum;
}

void add_self_times(Overview &overview, std::map<std::string, Function> &functions, store::Store &store,
                    const std::vector<store::TagFilter> &tags, query::Budget &budget) {
  const auto usages = usage_of("jvm.function.self", {"function"}, store, tags, overview.range, budget);
  if (usages.empty() || overview.covered_seconds <= 0) return;
  // JVMs report their largest functions only; the sum of all is the CPU time of their threads.
  const double cpu = sum_of(usage_of("jvm.profile.cpu", {}, store, tags, overview.range, budget)) / 100;
  const double all = std::max(cpu, sum_of(usages));
  const double rest = all - sum_of(usages);
  if (rest > 0) {
    overview.unattributed = rest / overview.covered_seconds;
    overview.unattributed_share = rest / all;
  }
  for (const Usage &usage : usages) {
    const std::string name = tag_of(usage.tags, "function");
    const double seconds = usage.amount;
    Function &function = functions[name];
    function.self = seconds / overview.covered_seconds;
    if (all > 0) function.self_share = seconds / all;
  }
}

void add_samples(Overview &overview, std::map<std::string, Function> &functions, store::Store &store,
                 const std::vector<store::TagFilter> &tags, query::Budget &budget) {
  CpuSamples samples(overview.jvms, budget);
  samples.read(store, tags, overview.range);
  samples.visit([&](const std::optional<Place> &place, double count) {
    (place ? overview.java_samples : overview.other_samples) += count;
    if (!place) return;
    std::optional<double> &sum = functions[place->function].samples;
    sum = sum.value_or(0) + count;
  });
  for (auto &[name, function] : functions)
    if (function.samples) function.samples_share = *function.samples / overview.java_samples;
}

void add_dump_callers(std::map<std::string, Caller> &callers, const std::string &function, const store::Range &range,
                      store::Store &store, const std::vector<store::TagFilter> &tags, query::Budget &budget) {
  // Returns nothing if the stack does not end in the function.
  std::unordered_map<int64_t, std::optional<std::string>> known;
  std::map<std::string, double> sums;
  double all = 0;
  store.stacks(dumps_of("wall", tags, range), [&](const store::Stack &stack) {
    budget.work(1);
    const auto [caller, is_new] = known.try_emplace(stack.number);
    if (is_new) {
      budget.reserve(1);
      if (const auto place = dump_place(stack.folded); place && place->function == function) caller->second = place->caller;
    }
    if (!caller->second) return;
    const double ns = cpu_ns(stack);
    sums[*caller->second] += ns;
    all += ns;
  });
  budget.release(known.size());
  for (const auto &[name, sum] : sums)
    if (sum > 0) callers[name].self_share = sum / all;
}

void add_cpu_callers(std::map<std::string, Caller> &callers, const Function &function, const Overview &overview,
                     store::Store &store, const std::vector<store::TagFilter> &tags, query::Budget &budget) {
  if (!function.samples) return;
  CpuSamples samples(overview.jvms, budget);
  samples.read(store, tags, overview.range);
  samples.visit([&](const std::optional<Place> &place, double count) {
    if (!place || place->function != function.name) return;
    std::optional<double> &share = callers[place->caller].samples_share;
    share = share.value_or(0) + count / *function.samples;
  });
}

std::vector<Caller> sorted(const std::map<std::string, Caller> &callers) {
  std::vector<Caller> all;
  for (const auto &[name, caller] : callers) {
    all.push_back(caller);
    all.back().name = name;
  }
  std::stable_sort(all.begin(), all.end(), [](const Caller &a, const Caller &b) {
    return std::pair(a.self_share.value_or(0), a.samples_share.value_or(0)) >
           std::pair(b.self_share.value_or(0), b.samples_share.value_or(0));
  });
  return all;
}

// Sums windows. The exemplar is the stack with the most time over all windows, in the process in which it had the most time.
std::optional<Exemplar> exemplar_of(const std::string &function, const store::Range &range, store::Store &store,
                                    std::vector<store::TagFilter> tags, query::Budget &budget) {
  struct Sum {
    std::string folded;
    std::map<std::tuple<std::string, std::string, std::string>, double> jvms;
    double all = 0;
  };
  std::unordered_map<int64_t, Sum> sums;
  double all = 0;
  tags.push_back({"function", {query::exact_pattern(function)}});
  store.stacks(dumps_of("exemplar", tags, range), [&](const store::Stack &stack) {
    budget.work(1);
    const double ns = store::field_of(stack.fields, "profile.ns");
    const auto [sum, is_new] = sums.try_emplace(stack.number);
    if (is_new) {
      budget.reserve(1);
      sum->second.folded = stack.folded;
    }
    sum->second.jvms[{tag_of(stack.tags, "host"), tag_of(stack.tags, "pid"), tag_of(stack.tags, "process")}] += ns;
    sum->second.all += ns;
    all += ns;
  });
  budget.release(sums.size());
  if (sums.empty()) return std::nullopt;
  const Sum &largest = std::max_element(sums.begin(), sums.end(), [](const auto &a, const auto &b) {
                         return std::tuple(a.second.all, b.second.folded) < std::tuple(b.second.all, a.second.folded);
                       })->second;
  Exemplar exemplar;
  std::tie(exemplar.host, exemplar.pid, exemplar.process) =
      std::max_element(largest.jvms.begin(), largest.jvms.end(), [](const auto &a, const auto &b) {
        return a.second < b.second;
      })->first;
  for (const std::string_view frame : frames_of(largest.folded)) exemplar.lines.push_back(trace_line(frame));
  exemplar.share = all > 0 ? largest.all / all : 1;
  return exemplar;
}

std::vector<JvmShare> jvms_with(const std::string &function, const Overview &overview, store::Store &store,
                                std::vector<store::TagFilter> tags, query::Budget &budget) {
  std::vector<JvmShare> all;
  tags.push_back({"function", {query::exact_pattern(function)}});
  for (const Usage &usage : usage_of("jvm.function.self", kByJvm, store, tags, overview.range, budget))
    all.push_back({tag_of(usage.tags, "host"), tag_of(usage.tags, "pid"), tag_of(usage.tags, "process"),
                   usage.amount / overview.covered_seconds});
  return all;
}

}  // namespace

Overview overview_of(store::Store &store, const std::vector<store::TagFilter> &tags, const store::Range &range,
                     query::Budget &budget) {
  Overview overview;
  overview.range = range;
  Jvms jvms;
  const auto rates = usage_of("jvm.profile.rate", kByJvm, store, tags, range, budget);
  jvms.add(rates, &Jvm::rate);
  jvms.add(usage_of("jvm.profile.cost", kByJvm, store, tags, range, budget), &Jvm::cost);
  // JVMs without a profile show their heap.
  jvms.add(usage_of("jvm.heap.used", kByJvm, store, tags, range, budget), nullptr);
  jvms.add_facts(store, tags, range, budget);
  overview.jvms = jvms.result();
  overview.reporting = static_cast<size_t>(
      std::count_if(overview.jvms.begin(), overview.jvms.end(), [](const Jvm &jvm) { return jvm.rate.has_value(); }));
  query::Coverage covered;
  for (const Usage &usage : rates) covered.add(usage.covered);
  overview.covered_seconds = static_cast<double>(covered.length_ns()) / 1e9;
  if (overview.covered_seconds > 0) overview.rate = sum_of(rates) / overview.covered_seconds;

  std::map<std::string, Function> functions;
  add_self_times(overview, functions, store, tags, budget);
  add_samples(overview, functions, store, tags, budget);
  for (auto &[name, function] : functions) {
    function.name = name;
    overview.functions.push_back(std::move(function));
  }
  std::stable_sort(overview.functions.begin(), overview.functions.end(), [](const Function &a, const Function &b) {
    return std::pair(a.samples.value_or(0), a.self.value_or(0)) > std::pair(b.samples.value_or(0), b.self.value_or(0));
  });
  return overview;
}

std::vector<Function> top_functions(const std::vector<Function> &functions, size_t count) {
  std::set<std::string> wanted;
  const auto want = [&](std::optional<double> Function::*value) {
    std::vector<const Function *> known;
    for (const Function &function : functions)
      if (function.*value) known.push_back(&function);
    std::stable_sort(known.begin(), known.end(), [&](const auto *a, const auto *b) { return *(a->*value) > *(b->*value); });
    for (size_t i = 0; i < std::min(count, known.size()); ++i) wanted.insert(known[i]->name);
  };
  want(&Function::self);
  want(&Function::samples);
  std::vector<Function> first;
  for (const Function &function : functions)
    if (wanted.contains(function.name)) first.push_back(function);
  return first;
}

Detail detail_of(const Function &function, const Overview &overview, store::Store &store, const std::vector<store::TagFilter> &tags,
                 query::Budget &budget) {
  Detail detail;
  detail.function = function;
  detail.exemplar = exemplar_of(function.name, overview.range, store, tags, budget);
  std::map<std::string, Caller> callers;
  add_dump_callers(callers, function.name, overview.range, store, tags, budget);
  add_cpu_callers(callers, function, overview, store, tags, budget);
  detail.callers = sorted(callers);
  if (function.self) detail.jvms = jvms_with(function.name, overview, store, tags, budget);
  return detail;
}

}  // namespace atalaya::jvms

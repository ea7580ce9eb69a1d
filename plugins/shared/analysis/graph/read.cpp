// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/read.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "plugins/shared/store/query/usage.h"

namespace atalaya::graph {
namespace {

using query::Tags;
using query::Usage;

const std::vector<std::string> kFlowTags = {"host",  "pid",    "process", "container", "command",  "netns",
                                            "local", "remote", "port",    "protocol",  "direction"};
const std::vector<std::string> kWorkerTags = {"host", "pid", "process", "container", "command"};

const std::vector<std::string> kTranslationTags = {"protocol",     "local",         "remote",     "port",
                                                   "server_local", "server_remote", "server_port"};

// Tags whose values may change, because translators add tags after the first window of a process.
const std::vector<std::string> kNames = {"process", "container", "command"};

struct FlowTotal {
  Amount moved;
  int64_t until_ns = 0;
};

std::string value(const Tags &tags, std::string_view key) {
  const auto found = tags.find(key);
  return found == tags.end() ? "" : found->second;
}

Flow flow_of(const Tags &tags) {
  Flow flow;
  flow.host = value(tags, "host");
  flow.pid = value(tags, "pid");
  flow.process = value(tags, "process");
  flow.container = value(tags, "container");
  flow.command = value(tags, "command");
  flow.netns = value(tags, "netns");
  flow.port = value(tags, "port");
  flow.protocol = value(tags, "protocol");
  flow.opened = value(tags, "direction") != "in";
  const Endpoint local = endpoint_of(value(tags, "local")), remote = endpoint_of(value(tags, "remote"));
  flow.local = local.address;
  flow.remote = remote.address;
  flow.other_port = flow.opened ? local.port : remote.port;
  return flow;
}

// Sums of a metric; empty if the store does not have it.
std::vector<Usage> sums_of(const std::string &metric, const std::vector<store::TagFilter> &tags,
                           const std::vector<std::string> &group_by, const query::Range &range, store::Store &store,
                           query::Budget &budget, const store::MetricInfo *undeclared = nullptr) {
  try {
    return query::usage_of({metric}, tags, group_by, range, store, budget, undeclared);
  } catch (const query::UnknownMetric &) {
    return {};
  }
}

// A process is identified by host and pid; the last reported names count for all its flows.
std::map<Tags, Amount> by_last_names(const std::map<Tags, FlowTotal> &flows) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::pair<int64_t, std::string>>> last;
  const auto process_of = [](const Tags &tags) { return std::pair(value(tags, "host"), value(tags, "pid")); };
  for (const auto &[tags, total] : flows)
    for (const std::string &key : kNames)
      if (const auto name = tags.find(key); name != tags.end()) {
        auto &known = last[process_of(tags)][key];
        known = std::max(known, std::pair(total.until_ns, name->second));
      }
  std::map<Tags, Amount> amounts;
  for (const auto &[tags, total] : flows) {
    Tags named = tags;
    // A flow without a pid is a sum over several processes with the same name.
    if (tags.contains("pid"))
      for (const auto &[key, name] : last[process_of(tags)]) named[key] = name.second;
    amounts[named].out += total.moved.out;
    amounts[named].in += total.moved.in;
  }
  return amounts;
}

}  // namespace

std::vector<Flow> read_flows(const std::vector<store::TagFilter> &tags, const query::Range &range, store::Store &store,
                             query::Budget &budget) {
  // Points of other senders have no declaration; a flow is an amount by its definition (plugins/sources/net/README.md).
  const store::MetricInfo bytes{.kind = store::Kind::delta, .unit = "By"};
  std::map<Tags, FlowTotal> totals;
  for (const auto &[metric, part] : {std::pair{"flow.in.bytes", &Amount::in}, std::pair{"flow.out.bytes", &Amount::out}})
    for (const Usage &usage : sums_of(metric, tags, kFlowTags, range, store, budget, &bytes)) {
      FlowTotal &own = totals[usage.tags];
      own.moved.*part += usage.sum;
      own.until_ns = std::max(own.until_ns, usage.covered.end_ns());
    }
  const std::map<Tags, Amount> amounts = by_last_names(totals);
  std::vector<Flow> flows;
  flows.reserve(amounts.size());
  for (const auto &[own, amount] : amounts) {
    flows.push_back(flow_of(own));
    flows.back().moved = amount;
  }
  return flows;
}

void add_reported_translations(const query::Range &range, store::Store &store, query::Budget &budget, Translations &translations) {
  const store::MetricInfo connections{.kind = store::Kind::gauge, .unit = "1"};
  for (const Usage &usage : sums_of("nat.connections", {}, kTranslationTags, range, store, budget, &connections)) {
    const Tags &tags = usage.tags;
    const std::string protocol = value(tags, "protocol");
    const Service seen{protocol, value(tags, "local"), value(tags, "remote"), value(tags, "port")};
    const Service real{protocol, value(tags, "server_remote"), value(tags, "server_local"), value(tags, "server_port")};
    if (!real.server.empty()) add_translation(seen, real, translations);
  }
}

std::vector<Worker> read_workers(const query::Range &range, store::Store &store, query::Budget &budget) {
  std::map<Tags, Resources> used;
  const auto add = [&](const char *metric, double Resources::*part, double scale) {
    for (const Usage &usage : sums_of(metric, {}, kWorkerTags, range, store, budget))
      used[usage.tags].*part += usage.average * scale;
  };
  add("proc.cpu.user", &Resources::cpu, 0.01);
  add("proc.cpu.kernel", &Resources::cpu, 0.01);
  add("proc.mem.resident", &Resources::memory, 1);
  std::vector<Worker> workers;
  workers.reserve(used.size());
  for (auto &[tags, resources] : used) {
    workers.push_back({value(tags, "host"),
                       value(tags, "pid"),
                       value(tags, "process"),
                       value(tags, "container"),
                       value(tags, "command"),
                       {resources.cpu, resources.memory, true}});
  }
  return workers;
}

}  // namespace atalaya::graph

// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/report.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/base/text/json.h"
#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/graph/drawing/text.h"

namespace atalaya::place {
namespace {

using core::visible;
using graph::bytes_text;
using graph::short_number;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::string share(double used, double capacity) {
  return capacity > 0 ? short_number(100 * used / capacity, 1) + "%" : "-";
}

std::string factor(double value, int decimals) {
  return std::isnan(value) ? "-" : short_number(value, decimals);
}

query::Row row_of(const char *name, const Problem &problem, const Score &score) {
  return {name,
          std::to_string(score.hosts),
          bytes_text(score.crossing),
          share(score.crossing, problem.total),
          factor(score.cpu, 3),
          factor(score.memory, 3),
          factor(score.network, 3),
          factor(score.fitness, 4)};
}

void add_number(std::string &out, const char *key, double value) {
  out += key;
  if (std::isnan(value))
    out += "null";
  else
    core::append_number(out, value);
}

void add_score(std::string &out, const Problem &problem, const Score &score) {
  out += "{\"hosts\":" + std::to_string(score.hosts);
  add_number(out, ",\"crossing\":", score.crossing);
  add_number(out, ",\"cpu\":", score.cpu);
  add_number(out, ",\"memory\":", score.memory);
  add_number(out, ",\"network\":", score.network);
  add_number(out, ",\"fitness\":", score.fitness);
  out += ",\"used\":[";
  for (size_t host = 0; host < problem.hosts.size(); ++host) {
    core::append_json_string(out += host == 0 ? "{\"host\":" : ",{\"host\":", problem.hosts[host].host);
    add_number(out, ",\"cpu\":", score.used[host].cpu);
    add_number(out, ",\"memory\":", score.used[host].memory);
    out += score.in_use[host] ? ",\"in_use\":true}" : ",\"in_use\":false}";
  }
  out += "]}";
}

std::string quality_text(const Score &best, const Quality &quality) {
  if (best.fitness <= 0) return "";
  if (quality.optimal) return "no placement has a higher fitness\n";
  return "no placement has a higher fitness than " + short_number(quality.bound, 4) + "\n";
}

// The state of a current host in the new placement.
const char *fate(bool now, bool proposed) {
  if (proposed) return "in use";
  return now ? "could be emptied" : "not needed";
}

}  // namespace

std::string as_table(const Problem &problem, const CurrentState &now, const Placement &after, const Quality &quality) {
  const Score old = score_of(now.problem, now.placement), best = score_of(problem, after);
  std::string out = query::as_columns({{"placement", "hosts", "between hosts", "of all", "cpu", "memory", "network", "fitness"},
                                       row_of("now", now.problem, old),
                                       row_of("proposed", problem, best)});
  out += quality_text(best, quality);
  std::vector<query::Row> rows = {{"host", "cores", "memory", "cpu now", "cpu proposed", "memory now", "memory proposed", "then"}};
  // Hosts of the problem come first.
  for (size_t i = 0; i < now.problem.hosts.size(); ++i) {
    const HostCapacity &capacity = now.problem.hosts[i];
    const bool proposed = i < problem.hosts.size();
    rows.push_back({visible(capacity.host), capacity.known ? short_number(capacity.cpu, 1) : "-",
                    capacity.known ? bytes_text(capacity.memory * kMebi) : "-", share(old.used[i].cpu, capacity.cpu),
                    proposed ? share(best.used[i].cpu, capacity.cpu) : "-", share(old.used[i].memory, capacity.memory),
                    proposed ? share(best.used[i].memory, capacity.memory) : "-", fate(old.in_use[i], proposed && best.in_use[i])});
  }
  out += "\n" + query::as_columns(rows);
  rows = {{"item", "now", "proposed"}};
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const Item &item = problem.items[i];
    const std::string &host = problem.hosts[after[i]].host;
    rows.push_back({visible(item.name), visible(item.host), item.host == host ? "stays" : visible(host)});
  }
  return out + "\n" + query::as_columns(rows);
}

std::string as_json(const Problem &problem, const CurrentState &now, const Placement &after, const Quality &quality) {
  std::string out = "{\"total\":";
  core::append_number(out, problem.total);
  add_score(out += ",\n\"now\":", now.problem, score_of(now.problem, now.placement));
  add_score(out += ",\n\"proposed\":", problem, score_of(problem, after));
  add_number(out, ",\n\"bound\":", quality.bound);
  out += quality.optimal ? ",\"optimal\":true" : ",\"optimal\":false";
  out += ",\n\"hosts\":[";
  for (size_t i = 0; i < problem.hosts.size(); ++i) {
    core::append_json_string(out += i == 0 ? "{\"host\":" : ",\n{\"host\":", problem.hosts[i].host);
    add_number(out, ",\"cores\":", problem.hosts[i].cpu);
    add_number(out, ",\"memory\":", problem.hosts[i].memory);
    out += '}';
  }
  out += "],\n\"items\":[";
  for (size_t i = 0; i < problem.items.size(); ++i) {
    core::append_json_string(out += i == 0 ? "{\"name\":" : ",\n{\"name\":", problem.items[i].name);
    core::append_json_string(out += ",\"from\":", problem.items[i].host);
    core::append_json_string(out += ",\"to\":", problem.hosts[after[i]].host);
    const graph::Resources &used = problem.items[i].used;
    add_number(out, ",\"cpu\":", used.known ? used.cpu : kUnknown);
    add_number(out, ",\"memory\":", used.known ? used.memory : kUnknown);
    out += '}';
  }
  return out + "]}\n";
}

std::string as_kubernetes(const Problem &problem, const Placement &after) {
  struct Nodes {
    std::set<std::string> now, proposed;
  };
  std::map<std::string, Nodes> named;  // by item name: replicas have the same name and template
  for (size_t i = 0; i < problem.items.size(); ++i) {
    Nodes &nodes = named[problem.items[i].name];
    nodes.now.insert(problem.items[i].host);
    nodes.proposed.insert(problem.hosts[after[i]].host);
  }
  std::string out;
  for (const auto &[name, nodes] : named) {
    out += "---\n# " + visible(name) + ", now on";
    for (const std::string &host : nodes.now) out += " " + visible(host);
    out +=
        "\nspec:\n  template:\n    spec:\n      affinity:\n        nodeAffinity:\n"
        "          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n"
        "              - matchExpressions:\n                  - key: kubernetes.io/hostname\n                    operator: In\n"
        "                    values: ";
    // A JSON list is valid YAML.
    query::append_list(out, {nodes.proposed.begin(), nodes.proposed.end()});
    out += "\n";
  }
  return out;
}

}  // namespace atalaya::place

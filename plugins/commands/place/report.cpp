// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/report.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/base/text/json_writer.h"
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

command_line::Row row_of(const char *name, const Problem &problem, const Score &score) {
  return {name,
          std::to_string(score.hosts),
          bytes_text(score.crossing),
          share(score.crossing, problem.total),
          factor(score.cpu, 3),
          factor(score.memory, 3),
          factor(score.network, 3),
          factor(score.fitness, 4)};
}

void write_score(core::JsonWriter &json, const Problem &problem, const Score &score) {
  json.object().key("hosts").count(score.hosts).key("crossing").number(score.crossing).key("cpu").number(score.cpu);
  json.key("memory").number(score.memory).key("network").number(score.network).key("fitness").number(score.fitness);
  json.key("used").list();
  for (size_t host = 0; host < problem.hosts.size(); ++host) {
    json.object().key("host").text(problem.hosts[host].host).key("cpu").number(score.used[host].cpu);
    json.key("memory").number(score.used[host].memory).key("in_use").boolean(score.in_use[host]).end_object();
  }
  json.end_list().end_object();
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
  std::string out =
      command_line::as_columns({{"placement", "hosts", "between hosts", "of all", "cpu", "memory", "network", "fitness"},
                                row_of("now", now.problem, old),
                                row_of("proposed", problem, best)});
  out += quality_text(best, quality);
  std::vector<command_line::Row> rows = {
      {"host", "cores", "memory", "cpu now", "cpu proposed", "memory now", "memory proposed", "then"}};
  // Hosts of the problem come first.
  for (size_t i = 0; i < now.problem.hosts.size(); ++i) {
    const HostCapacity &capacity = now.problem.hosts[i];
    const bool proposed = i < problem.hosts.size();
    rows.push_back({visible(capacity.host), capacity.known ? short_number(capacity.cpu, 1) : "-",
                    capacity.known ? bytes_text(capacity.memory * kMebi) : "-", share(old.used[i].cpu, capacity.cpu),
                    proposed ? share(best.used[i].cpu, capacity.cpu) : "-", share(old.used[i].memory, capacity.memory),
                    proposed ? share(best.used[i].memory, capacity.memory) : "-", fate(old.in_use[i], proposed && best.in_use[i])});
  }
  out += "\n" + command_line::as_columns(rows);
  rows = {{"item", "now", "proposed"}};
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const Item &item = problem.items[i];
    const std::string &host = problem.hosts[after[i]].host;
    rows.push_back({visible(item.name), visible(item.host), item.host == host ? "stays" : visible(host)});
  }
  return out + "\n" + command_line::as_columns(rows);
}

std::string as_json(const Problem &problem, const CurrentState &now, const Placement &after, const Quality &quality) {
  core::JsonWriter json;
  json.object().key("total").number(problem.total);
  write_score(json.line().key("now"), now.problem, score_of(now.problem, now.placement));
  write_score(json.line().key("proposed"), problem, score_of(problem, after));
  json.line().key("bound").number(quality.bound).key("optimal").boolean(quality.optimal);
  json.line().key("hosts").list();
  for (const HostCapacity &host : problem.hosts) {
    json.line().object().key("host").text(host.host).key("cores").number(host.cpu);
    json.key("memory").number(host.memory).end_object();
  }
  json.end_list().line().key("items").list();
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const Item &item = problem.items[i];
    json.line().object().key("name").text(item.name).key("from").text(item.host).key("to").text(problem.hosts[after[i]].host);
    json.key("cpu").number(item.used.known ? item.used.cpu : kUnknown);
    json.key("memory").number(item.used.known ? item.used.memory : kUnknown).end_object();
  }
  return json.end_list().end_object().take() + "\n";
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
    out += core::JsonWriter().texts(nodes.proposed).take() + "\n";
  }
  return out;
}

}  // namespace atalaya::place

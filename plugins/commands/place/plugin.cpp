// SPDX-License-Identifier: Apache-2.0
// Command place: the best hosts for containers or processes.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/text/text.h"
#include "plugins/commands/place/bound.h"
#include "plugins/commands/place/gather.h"
#include "plugins/commands/place/host_capacity.h"
#include "plugins/commands/place/packing.h"
#include "plugins/commands/place/report.h"
#include "plugins/commands/place/search.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/graph/params.h"
#include "plugins/shared/analysis/graph/read.h"
#include "plugins/shared/io/match/matcher.h"

namespace atalaya::place {
namespace {

using namespace atalaya::literals;

constexpr size_t kMaxFileSize = size_t{16} << 20, kMaxItems = 2'000, kMaxNamed = 10;

class PlaceCommand final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::listed(
          param::string("hosts",
                        "Target hosts: a file with lines NAME CORES MEMORY, or a number of hosts from the store; "
                        "hosts beyond those of the store are copies of the last one (new1, new2)")
              .unit("FILE|N"),
          param::choice("by", "container|process", "Entities to place; other processes stay on their hosts").defaults("container"),
          param::list("move", command_line::kText, "Place only containers or processes with these names").unit("PATTERN"),
          param::integer("fill", "Maximum use of the cores and memory of a host; averages have peaks")
              .defaults("80")
              .range(1, 100)
              .unit("%"),
          command_line::kTag),
      command_line::kWindowParams,
      command_line::listed(
          param::integer("population", "Placements in the population of the search").defaults("80").range(10, 10'000),
          param::integer("generations", "Generations of the search").defaults("200").range(1, 100'000),
          param::integer("seed", "Random seed; equal seeds find equal placements").defaults("1").range(0, 1e9), graph::kConntrack),
      command_line::kStoreParams,
      command_line::listed(param::choice("format", "table|json|kubernetes",
                                         "Output format; kubernetes: patches of pod templates with the node of each pod")
                               .defaults("table")));
  static constexpr Description description = {.name = "place"_str,
                                              .summary = "Plan a placement with few hosts and little traffic between them"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya place --from -1h --hosts hosts.txt\n"
                                                  "atalaya place --hosts 3 --by process --move 'worker*'\n"
                                                  "atalaya place --from -1d --format kubernetes > patches.yaml"_str};

  explicit PlaceCommand(Host host)
      : read_(command_line::read_options(host)),
        by_container_(host.text("by") == "container"),
        fill_(static_cast<double>(host.integer("fill")) / 100),
        format_(host.text("format")),
        tags_(command_line::read_tags(host)),
        translations_(graph::read_translations(host)) {
    search_.population = static_cast<unsigned>(host.integer("population"));
    search_.generations = static_cast<unsigned>(host.integer("generations"));
    search_.seed = static_cast<unsigned>(host.integer("seed"));
    if (const auto hosts = host.find("hosts")) parse_hosts(std::string(hosts->text()));
    if (format_ == "kubernetes" && !by_container_)
      throw Failure(Code::bad_config, "--format kubernetes: pod templates have containers; omit --by process");
    auto names = io::MatcherList::parse(host.texts("move"));
    if (!names) throw Failure(Code::bad_config, "--move: " + names.error());
    names_ = std::move(names.value());
  }

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures(
        [&] {
          command_line::Reading reading(read_);
          const std::vector<graph::Worker> workers = graph::read_workers(reading.range, *reading.store, reading.budget);
          const graph::Graph graph = graph_in(reading, workers);
          Problem problem = problem_of(graph, workers, capacities_of(reading), fill_, movable());
          if (count_) problem.max_hosts = *count_;
          check(problem, reading.range);
          const CurrentState now = present(problem, graph, workers, reading);
          const Placement after = search(problem, current(problem, reading.budget), search_, reading.budget);
          const Quality quality = quality_of(problem, after);
          command_line::write_output("-", format_ == "json"         ? as_json(problem, now, after, quality)
                                          : format_ == "kubernetes" ? as_kubernetes(problem, after)
                                                                    : as_table(problem, now, after, quality));
          return fits(problem, after) ? 0 : 1;
        },
        command_line::kAskForLessTime);
  }

 private:
  // Parses --hosts: a number or the name of a file.
  void parse_hosts(const std::string &text) {
    const auto count = core::number_from<size_t>(text);
    if (!count) {
      file_ = text;
      return;
    }
    if (*count == 0 || *count > kMaxHosts)
      throw Failure(Code::bad_config, "--hosts: " + text + " is not between 1 and " + std::to_string(kMaxHosts));
    count_ = *count;
  }

  graph::Graph graph_in(command_line::Reading &reading, const std::vector<graph::Worker> &workers) const {
    const std::vector<graph::Flow> flows = graph::read_flows(tags_, reading.range, *reading.store, reading.budget);
    graph::Translations translations = translations_;
    graph::add_reported_translations(reading.range, *reading.store, reading.budget, translations);
    return graph_of(flows, graph::paired(flows, translations), workers, by_container_ ? graph::By::container : graph::By::process);
  }

  // A process without a pid is not placed: it has ended, or is a sum of processes.
  std::function<bool(const graph::Node &)> movable() const {
    return [this](const graph::Node &node) {
      return (by_container_ ? node.contained : !node.pid.empty()) && names_.matches(node.name);
    };
  }

  void check(const Problem &problem, const query::Range &range) const {
    const std::string time = " from " + command_line::span_text(range);
    if (problem.items.empty()) throw query::Wrong("nothing to place" + time + ": " + why_nothing());
    if (problem.items.size() > kMaxItems)
      throw query::TooMuch(std::to_string(problem.items.size()) + " items are too many (maximum: " + std::to_string(kMaxItems) +
                           "); select some with --move");
    std::vector<std::string> unknown;
    for (const Item &item : problem.items)
      if (!item.used.known) unknown.push_back(item.name + " on " + item.host);
    if (unknown.size() == problem.items.size())
      throw query::Wrong("no data about their use of CPU and memory" + time +
                         "; run source proc (proc.cpu.user, proc.mem.resident; pipelines/traffic.lua)" +
                         (by_container_ ? " with the tag container, as in the flows" : ""));
    warn("no data about the use of these; they are placed as if it were zero", unknown);
  }

  // The current state, including hosts on which no item may be placed.
  CurrentState present(const Problem &problem, const graph::Graph &graph, const std::vector<graph::Worker> &workers,
                       command_line::Reading &reading) const {
    const std::vector<std::string> unlisted = unlisted_hosts(problem);
    warn(file_.empty() ? "hosts without items, because their cores (sys.cpu.usage) or memory (sys.mem.total) are unknown"
                       : "hosts without items, because --hosts does not have them",
         unlisted);
    std::vector<HostCapacity> known;
    if (!unlisted.empty()) known = read_capacities(reading.range, *reading.store, reading.budget);
    CurrentState now;
    now.problem = problem_of(graph, workers, add_unlisted_hosts(problem.hosts, unlisted, known), fill_, movable());
    now.placement = current(now.problem, reading.budget);
    return now;
  }

  static Quality quality_of(const Problem &problem, const Placement &after) {
    const double fitness = score_of(problem, after).fitness;
    if (fitness > 0 && (is_enumerable(problem) || problem.hosts.size() < 2)) return {fitness, true};
    const double bound = std::max(bound_of(problem), fitness);
    return {bound, fitness >= bound};
  }

  static bool fits(const Problem &problem, const Placement &after) {
    if (score_of(problem, after).fitness > 0) return true;
    std::fprintf(stderr, "does not fit: %s\n", misfit_text(problem, after).c_str());
    return false;
  }

  static void warn(const char *message, const std::vector<std::string> &names) {
    if (names.empty()) return;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) text += (i == 0 ? "" : ", ") + core::in_quotes(names[i]);
    if (names.size() > kMaxNamed) text += " and " + std::to_string(names.size() - kMaxNamed) + " more";
    std::fprintf(stderr, "%s: %s\n", message, text.c_str());
  }

  std::string why_nothing() const {
    if (!names_.empty()) return "no flow has a name that --move selects";
    return by_container_
               ? "no flow has the tag container; translate.names { tags = { \"container\" } } adds it (pipelines/traffic.lua), or "
                 "--by process places processes"
               : "no flow has a process";
  }

  std::vector<HostCapacity> capacities_of(command_line::Reading &reading) const {
    if (!file_.empty()) return capacities_in_file();
    std::vector<HostCapacity> capacities = read_capacities(reading.range, *reading.store, reading.budget);
    if (capacities.empty())
      throw query::Wrong(
          "the store has no cores and memory of hosts; run source proc (sys.cpu.usage, sys.mem.total; pipelines/traffic.lua "
          "has it and source net), or set --hosts to a file with lines NAME CORES MEMORY");
    return with_new_hosts(std::move(capacities), count_.value_or(0));
  }

  std::vector<HostCapacity> capacities_in_file() const {
    const auto text = core::read_file(file_, kMaxFileSize);
    if (!text) throw query::Wrong("--hosts: " + text.error());
    auto capacities = parse_capacities(text.value());
    if (!capacities) throw query::Wrong("--hosts " + file_ + ": " + capacities.error());
    if (capacities.value().empty()) throw query::Wrong("--hosts " + file_ + ": no hosts; lines are NAME CORES MEMORY");
    return std::move(capacities.value());
  }

  const command_line::ReadOptions read_;
  const bool by_container_;
  const double fill_;
  const std::string format_;
  const std::vector<store::TagFilter> tags_;
  const graph::Translations translations_;
  std::string file_;             // file with the hosts
  std::optional<size_t> count_;  // maximum hosts
  SearchOptions search_;
  io::MatcherList names_;
};

}  // namespace
}  // namespace atalaya::place

ATALAYA_PLUGIN("place", "0.1.0", "command place", atalaya::place::PlaceCommand)

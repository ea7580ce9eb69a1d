// SPDX-License-Identifier: Apache-2.0
// Command place: which containers, or processes, should be on which hosts.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/match/matcher.h"
#include "core/base/text.h"
#include "plugins/commands/place/gather.h"
#include "plugins/commands/place/report.h"
#include "plugins/commands/place/rooms.h"
#include "plugins/commands/place/search.h"
#include "plugins/shared/analysis/graph/params.h"
#include "plugins/shared/analysis/graph/read.h"
#include "plugins/shared/analysis/query/options.h"
#include "plugins/shared/analysis/query/output.h"

namespace atalaya::place {
namespace {

using namespace atalaya::literals;

constexpr size_t kLargestFile = size_t{16} << 20, kMostItems = 2'000, kMostNamed = 10;

class PlaceCommand final : public Command {
 public:
  static constexpr auto params = query::joined(
      query::listed(
          param::string("hosts",
                        "Target hosts: a file with lines NAME CORES MEMORY, or a number of hosts from the store; "
                        "hosts beyond those of the store are copies of the last one (new1, new2)")
              .unit("FILE|N"),
          param::choice("by", "container|process", "Entities to place; other processes stay on their hosts").defaults("container"),
          param::list("move", query::kText, "Place only containers or processes with these names").unit("PATTERN"),
          param::integer("fill", "Maximum use of the cores and memory of a host; averages have peaks")
              .defaults("80")
              .range(1, 100)
              .unit("%"),
          query::kTag),
      query::kWindowParams,
      query::listed(param::integer("population", "Placements in the population of the search").defaults("80").range(10, 10'000),
                    param::integer("generations", "Generations of the search").defaults("200").range(1, 100'000),
                    param::integer("seed", "Random seed; equal seeds find equal placements").defaults("1").range(0, 1e9),
                    graph::kConntrack),
      query::kStoreParams,
      query::listed(param::choice("format", "table|json|kubernetes",
                                  "Output format; kubernetes: patches of pod templates with the node of each pod")
                        .defaults("table")));
  static constexpr Description description = {
      .name = "place"_str,
      .summary = "Plan a placement with few hosts and little traffic between them"_str,
      .params = params,
      .example = "atalaya place --from -1h --hosts hosts.txt\n"
                 "atalaya place --hosts 3 --by process --move 'worker*'\n"
                 "atalaya place --from -1d --format kubernetes > patches.yaml"_str};

  explicit PlaceCommand(Host host)
      : read_(query::read_options(host)),
        by_container_(host.text("by") == "container"),
        fill_(static_cast<double>(host.integer("fill")) / 100),
        format_(host.text("format")),
        tags_(query::read_tags(host)),
        translations_(graph::read_translations(host)) {
    search_.population = static_cast<unsigned>(host.integer("population"));
    search_.generations = static_cast<unsigned>(host.integer("generations"));
    search_.seed = static_cast<unsigned>(host.integer("seed"));
    if (const auto hosts = host.find("hosts")) take_hosts(std::string(hosts->text()));
    if (format_ == "kubernetes" && !by_container_)
      throw Failure(Code::bad_config, "--format kubernetes: pod templates have containers; leave out --by process");
    auto names = core::MatcherList::parse(host.texts("move"));
    if (!names) throw Failure(Code::bad_config, "--move: " + names.error());
    names_ = std::move(names.value());
  }

  int run(std::span<const atalaya_str>) override {
    return query::answered(
        [&] {
          query::Reading reading(read_);
          const std::vector<graph::Worker> workers = graph::read_workers(reading.range, *reading.store, reading.budget);
          const graph::Graph graph = graph_in(reading, workers);
          Problem problem = problem_of(graph, workers, rooms_of(reading), fill_, movable());
          if (count_) problem.most_hosts = *count_;
          check(problem, reading.range);
          const Present now = present(problem, graph, workers, reading);
          const Placement after = search(problem, current(problem, reading.budget), search_, reading.budget);
          query::write_output("-", format_ == "json"         ? as_json(problem, now, after)
                                   : format_ == "kubernetes" ? as_kubernetes(problem, after)
                                                             : as_table(problem, now, after));
          return 0;
        },
        query::kAskForLessTime);
  }

 private:
  // A number, or a file.
  void take_hosts(const std::string &text) {
    size_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size()) {
      file_ = text;
      return;
    }
    if (count == 0 || count > kMostHosts)
      throw Failure(Code::bad_config, "--hosts: " + text + " is not between 1 and " + std::to_string(kMostHosts));
    count_ = count;
  }

  graph::Graph graph_in(query::Reading &reading, const std::vector<graph::Worker> &workers) const {
    const std::vector<graph::Flow> flows = graph::read_flows(tags_, reading.range, *reading.store, reading.budget);
    return graph_of(flows, graph::paired(flows, translations_), workers, by_container_ ? graph::By::container : graph::By::process);
  }

  // A process without a pid has ended, or is the sum of many.
  std::function<bool(const graph::Node &)> movable() const {
    return [this](const graph::Node &node) {
      return (by_container_ ? node.contained : !node.pid.empty()) && names_.matches(node.name);
    };
  }

  void check(const Problem &problem, const query::Range &range) const {
    const std::string time = " from " + query::span_text(range);
    if (problem.items.empty()) throw query::Wrong("nothing to place" + time + ": " + why_nothing());
    if (problem.items.size() > kMostItems)
      throw query::TooMuch(std::to_string(problem.items.size()) + " are more than can be placed at once (" +
                           std::to_string(kMostItems) + "); name those that may move with --move");
    std::vector<std::string> unknown;
    for (const Item &item : problem.items)
      if (!item.used.known) unknown.push_back(item.name + " on " + item.host);
    if (unknown.size() == problem.items.size())
      throw query::Wrong("nothing is known of what they use" + time +
                         ": source proc tells it (proc.cpu.user, proc.mem.resident; pipelines/traffic.lua)" +
                         (by_container_ ? ", with the tag container as the flows have it" : ""));
    say("nothing is known of what these use, which are placed as if it were nothing", unknown);
  }

  // The load and traffic that there are, also of hosts that nothing may be placed on.
  Present present(const Problem &problem, const graph::Graph &graph, const std::vector<graph::Worker> &workers,
                  query::Reading &reading) const {
    const std::vector<std::string> left_out = others(problem);
    say(file_.empty() ? "nothing is placed on these hosts, whose cores (sys.cpu.usage) or memory (sys.mem.total) are not known"
                      : "nothing is placed on these hosts, which --hosts leaves out",
        left_out);
    std::vector<Room> known;
    if (!left_out.empty()) known = read_rooms(reading.range, *reading.store, reading.budget);
    Present now;
    now.problem = problem_of(graph, workers, with_others(problem.hosts, left_out, known), fill_, movable());
    now.placement = current(now.problem, reading.budget);
    return now;
  }

  static void say(const char *what, const std::vector<std::string> &names) {
    if (names.empty()) return;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i == 0 ? "" : ", ") + core::in_quotes(names[i]);
    if (names.size() > kMostNamed) text += " and " + std::to_string(names.size() - kMostNamed) + " more";
    std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  }

  std::string why_nothing() const {
    if (!names_.empty()) return "nothing of a name that --move has talks to anything";
    return by_container_
               ? "no flow has the tag container; translate.names { tags = { \"container\" } } adds it (pipelines/traffic.lua), or "
                 "--by process places processes"
               : "no flow has a process";
  }

  std::vector<Room> rooms_of(query::Reading &reading) const {
    if (!file_.empty()) return rooms_in_file();
    std::vector<Room> rooms = read_rooms(reading.range, *reading.store, reading.budget);
    if (rooms.empty())
      throw query::Wrong(
          "the store does not know how large hosts are: source proc tells it (sys.cpu.usage, sys.mem.total; pipelines/traffic.lua "
          "has it beside source net), or name a file with lines NAME CORES MEMORY with --hosts");
    return at_least(std::move(rooms), count_.value_or(0));
  }

  std::vector<Room> rooms_in_file() const {
    const auto text = core::read_file(file_, kLargestFile);
    if (!text) throw query::Wrong("--hosts: " + text.error());
    auto rooms = parse_rooms(text.value());
    if (!rooms) throw query::Wrong("--hosts " + file_ + ": " + rooms.error());
    if (rooms.value().empty()) throw query::Wrong("--hosts " + file_ + ": no host in it; lines are NAME CORES MEMORY");
    return std::move(rooms.value());
  }

  const query::ReadOptions read_;
  const bool by_container_;
  const double fill_;
  const std::string format_;
  const std::vector<store::TagFilter> tags_;
  const graph::Translations translations_;
  std::string file_;             // of hosts
  std::optional<size_t> count_;  // how many hosts may be used
  SearchOptions search_;
  core::MatcherList names_;
};

}  // namespace
}  // namespace atalaya::place

ATALAYA_PLUGIN("place", "0.1.0", "command place", atalaya::place::PlaceCommand)

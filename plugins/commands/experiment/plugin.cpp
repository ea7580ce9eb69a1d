// SPDX-License-Identifier: Apache-2.0
// Command experiment: named time ranges, stored as spans.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <atalaya/plugin.hpp>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/text/safe_text.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"
#include "plugins/commands/experiment/child.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/experiments/experiment_json.h"
#include "plugins/shared/analysis/experiments/experiment_log.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::experiment_command {
namespace {

using namespace atalaya::literals;
using experiments::Experiment;
using experiments::ExperimentLog;
using query::Wrong;

constexpr size_t kMaxImport = size_t{64} << 20;

std::string user_name() {
  const passwd *entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

std::string text_or(Host host, std::string_view name, const std::string &otherwise) {
  const auto value = host.find(name);
  return value ? std::string(value->text()) : otherwise;
}

std::string read_standard_input() {
  std::string text;
  char buffer[65536];
  for (size_t size = 0; (size = std::fread(buffer, 1, sizeof buffer, stdin)) > 0 && text.size() <= kMaxImport;)
    text.append(buffer, size);
  if (text.size() > kMaxImport) throw Wrong("input larger than 64 MiB; import it in parts");
  return text;
}

void print_table(const std::vector<Experiment> &experiments) {
  constexpr int64_t kSecond = 1'000'000'000;
  io::LocalTimes times;
  for (const Experiment &one : experiments) {
    times.add(one.start_ns);
    if (!one.open()) times.add(one.end_ns(0));
  }
  constexpr const char *kFormat = "%-24s %-20s %-25s %-25s %-10s %s\n";
  std::printf(kFormat, "experiment", "workload", times.title("start").c_str(), times.title("end").c_str(), "duration", "user");
  for (const Experiment &one : experiments) {
    const std::string end = one.open() ? "open" : times.text(one.end_ns(0) / kSecond * kSecond);
    const std::string length = one.open() ? "" : core::format_duration(one.duration_ns / kSecond * kSecond);
    std::printf(kFormat, core::visible(one.name).c_str(), core::visible(one.workload).c_str(),
                times.text(one.start_ns / kSecond * kSecond).c_str(), end.c_str(), length.c_str(), core::visible(one.user).c_str());
  }
}

// Prints one name per line. Names with line breaks are omitted.
void print_names(const std::vector<Experiment> &experiments) {
  std::set<std::string> names;
  for (const Experiment &one : experiments) names.insert(one.name);
  for (const std::string &name : names)
    if (core::visible(name) == name) std::printf("%s\n", name.c_str());
}

class ExperimentCommand final : public Command {
 public:
  static constexpr Param params[] = {
      param::string("workload", "Workload of the experiment").unit("NAME"),
      param::string("at", "Time of the start or end").defaults("now").unit("TIME"),
      param::string("user", "Owner (default: the current user)").unit("NAME"),
      param::string("notes", "Description"),
      param::list("tag", command_line::kText, "Tag of the experiment, such as nodes=7").unit("KEY=VALUE"),
      command_line::kStore,
      param::choice("format", "table|json|names", "Output format of list and show; import reads json").defaults("table"),
  };
  static constexpr Description description = {
      .name = "experiment"_str,
      .summary = "Name time ranges: experiments and their workloads"_str,
      .params = params,
      .operands = "start|end|show|delete NAME | list | import FILE | run NAME -- COMMAND"_str,
      .example =
          "atalaya experiment run terasort --workload run1 -- ./terasort.sh\n"
          "atalaya experiment start load-test --notes 'before the upgrade'\n"
          "atalaya experiment list"_str};

  explicit ExperimentCommand(Host host)
      : host_(host),
        workload_(text_or(host, "workload", "")),
        store_(text_or(host, "store", "")),
        format_(host.text("format")),
        at_(host.text("at")),
        user_(text_or(host, "user", user_name())),
        notes_(text_or(host, "notes", "")),
        tags_(command_line::read_tags(host)) {}

  int run(std::span<const atalaya_str> arguments) override {
    std::vector<std::string> words;
    for (const atalaya_str &word : arguments) words.emplace_back(view(word));
    return command_line::with_failures([&] { return dispatch(words); });
  }

 private:
  int dispatch(const std::vector<std::string> &words) {
    static const std::vector<std::string> verbs = {"start", "end", "list", "show", "delete", "import", "run"};
    if (words.empty()) throw Wrong("missing argument: start, end, list, show, delete, import or run");
    const std::string &verb = words[0];
    if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end())
      throw Wrong(core::in_quotes(verb) + " is not one of start, end, list, show, delete, import, run" +
                  core::did_you_mean(verb, verbs));
    if (verb == "list") return count(words, 1), list("");
    if (words.size() < 2) throw Wrong(verb + (verb == "import" ? ": missing FILE (- for standard input)" : ": missing NAME"));
    if (verb == "run") return run_command(words);
    count(words, 2);
    if (verb == "start") return log().start(described(words[1], at())), 0;
    if (verb == "end") return log().end(words[1], workload_, at()), 0;
    if (verb == "show") return list(words[1]);
    if (verb == "import") return import(words[1]);
    std::fprintf(stderr, "deleted %zu\n", log().remove(words[1], workload_));
    return 0;
  }

  static void count(const std::vector<std::string> &words, size_t maximum) {
    if (words.size() > maximum) throw Wrong("unexpected argument " + core::in_quotes(words[maximum]));
  }
  ExperimentLog log() const { return {host_, store_}; }

  int64_t at() const { return query::time_of("--at", at_, core::realtime()); }

  Experiment described(const std::string &name, int64_t start_ns) const {
    Experiment one;
    one.name = name;
    one.workload = workload_;
    one.user = user_;
    one.notes = notes_;
    for (const store::TagFilter &tag : tags_) one.tags[tag.key] = tag.patterns.back();
    one.start_ns = start_ns;
    return one;
  }

  int list(const std::string &name) const {
    const auto store = store::open_store(store_);
    if (!name.empty()) experiments::find_experiment(*store, name, workload_);
    auto found = experiments::experiments(*store, name);
    if (!workload_.empty()) std::erase_if(found, [&](const Experiment &one) { return one.workload != workload_; });
    if (format_ == "json") {
      std::fputs(experiments::experiments_json(found).c_str(), stdout);
    } else if (format_ == "names") {
      print_names(found);
    } else {
      print_table(found);
    }
    return 0;
  }

  int import(const std::string &path) const {
    const auto text = path == "-" ? core::Result<std::string>(read_standard_input()) : core::read_file(path, kMaxImport);
    if (!text) throw Wrong(text.error());
    const auto read = experiments::read_experiments(text.value(), core::realtime());
    ExperimentLog writer = log();
    writer.put(read);
    std::fprintf(stderr, "imported %zu\n", read.size());
    return 0;
  }

  // The experiment ends with the command, even if that fails.
  int run_command(const std::vector<std::string> &words) const {
    if (words.size() < 3) throw Wrong("run: missing command; write run NAME -- COMMAND");
    ExperimentLog writer = log();
    Child child;
    Experiment one = described(words[1], core::realtime());
    writer.start(one);
    std::optional<Experiment> whole = opened_around(writer, one);
    int status = 0;
    try {
      child.start({words.begin() + 2, words.end()});
      status = child.wait();
    } catch (...) {
      writer.put(one, true);
      if (whole) close(writer, *whole, whole->start_ns == one.start_ns);
      throw;
    }
    one.duration_ns = core::realtime() - one.start_ns;
    writer.put(one);
    if (whole) close(writer, *whole, false);
    return status;
  }

  // Opens the experiment of a workload: a new one, or the last one again. Nothing if it is open already.
  std::optional<Experiment> opened_around(ExperimentLog &writer, const Experiment &workload) const {
    if (workload.workload.empty()) return std::nullopt;
    Experiment whole = workload;
    whole.workload.clear();
    whole.notes.clear();
    for (Experiment &known : experiments::experiments(writer.store(), workload.name, false)) whole = std::move(known);
    if (whole.open() && whole.start_ns != workload.start_ns) return std::nullopt;
    whole.duration_ns = -1;
    writer.put(whole);
    return whole;
  }

  static void close(ExperimentLog &writer, Experiment &whole, bool deleted) {
    whole.duration_ns = core::realtime() - whole.start_ns;
    writer.put(whole, deleted);
  }

  Host host_;
  const std::string workload_, store_, format_, at_, user_, notes_;
  const std::vector<store::TagFilter> tags_;
};

}  // namespace
}  // namespace atalaya::experiment_command

ATALAYA_PLUGIN("experiment", "0.1.0", "command experiment", atalaya::experiment_command::ExperimentCommand)

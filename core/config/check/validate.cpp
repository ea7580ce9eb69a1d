// SPDX-License-Identifier: Apache-2.0
#include "core/config/check/validate.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/sample/batch.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/config/check/common_params.h"
#include "core/config/combine.h"
#include "core/config/components.h"

namespace atalaya::core {
namespace {

using Form = RawComponent::Form;

class Validator {
 public:
  Validator(Evaluation &evaluation, Registry &registry) : in_(evaluation), registry_(registry) {}

  Validation run() {
    out_.errors = in_.reports;
    for (const auto &raw : in_.pipelines) pipeline(raw);
    check_files();
    check_froms();
    check_outputs();
    check_shared_paths();
    check_shared_spools();
    if (out_.errors.empty()) warn_of_unused();
    if (out_.errors.empty()) warn_of_repeated_sources(files_, out_);
    return std::move(out_);
  }

 private:
  // The kind of the last element in a pipeline's list.
  enum Part { kSources, kStages, kSinks };
  struct Building {
    PipelineDescription description;
    size_t file = 0;    // -> Evaluation::paths
    std::string label;  // pipeline "x":
    Part part = kSources;
    bool from = false, pulls = false, pushes = false;
    bool broken = false;  // an error in the list is already reported, which may explain a missing part
    Location from_where;
  };

  static std::string label_of(const RawComponent &component) {
    if (component.form == Form::from) return "a.from " + in_quotes(component.name);
    if (component.form == Form::call) return "function";
    return std::string(kind_name(component.kind)) + " " + in_quotes(component.name);
  }

  static Location place(const Building &building, const Location &where) {
    return where.line > 0 ? where : building.description.where;
  }
  void error(const Building &building, const Location &where, const std::string &text) {
    out_.errors.push_back({place(building, where), building.label + text});
  }

  void warn_of_unused() {
    for (const auto &component : in_.components)
      if (!component.used && component.form != Form::broken)
        out_.warnings.push_back({component.where, label_of(component) + " is not used by any pipeline"});
  }

  void pipeline(const RawPipeline &raw) {
    Building building;
    building.description.name = raw.name;
    building.description.where = raw.where;
    building.file = raw.file;
    building.label = "pipeline " + in_quotes(raw.name) + ": ";
    check_name(building);
    if (!raw.complete) {
      building.broken = true;
      if (in_.finished) error(building, raw.where, "there is no table of its parts; write a.pipeline \"name\" { ... }");
    }
    for (const auto &problem : raw.problems) error(building, raw.where, text_of(problem));
    building.broken = building.broken || !raw.problems.empty();
    for (const auto &entry : raw.entries) add(building, entry);
    if (raw.complete) {
      check_every(building, raw.options);
      check_parts(building);
    }
    if (Building *other = in_other_file(building))
      combine(*other, building);
    else
      buildings_.push_back(std::move(building));
  }

  void check_files() {
    if (!in_.finished || !in_.reports.empty()) return;
    for (size_t file = 0; file < in_.paths.size(); ++file)
      if (std::none_of(in_.pipelines.begin(), in_.pipelines.end(), [file](const auto &raw) { return raw.file == file; }))
        out_.errors.push_back({{in_.paths[file], 0}, "there is no pipeline in this file; begin with a.pipeline \"name\" { ... }"});
  }

  // The pipeline of the same name that another file declared first.
  Building *in_other_file(const Building &building) {
    const auto found = std::find_if(buildings_.begin(), buildings_.end(), [&building](const Building &other) {
      return other.description.name == building.description.name && other.file != building.file;
    });
    return found == buildings_.end() ? nullptr : &*found;
  }

  // Equal pipelines of different files are one, which writes to the sinks of both in the shorter windows.
  void combine(Building &first, const Building &building) {
    if (first.broken || building.broken) return;
    if (const std::string text = difference(first.description, building.description); !text.empty()) {
      error(building, {},
            place_text(first.description.where, building.description.where) + " has another pipeline of this name: " + text +
                "; make them equal, rename one, or run one of the files");
      return;
    }
    first.description.every_ns = std::min(first.description.every_ns, building.description.every_ns);
    auto &sinks = first.description.sinks;
    for (const size_t sink : building.description.sinks)
      if (std::find(sinks.begin(), sinks.end(), sink) == sinks.end()) sinks.push_back(sink);
  }

  // The name becomes part of paths and of lines of text.
  void check_name(Building &building) {
    static constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    static constexpr size_t kLongest = 64;
    const std::string &name = building.description.name;
    if (name.empty() || name.size() > kLongest || name.front() == '.' || name.find_first_not_of(kAllowed) != std::string::npos)
      error(building, {}, "a pipeline's name has 1 to 64 letters, digits, _, - and ., and does not begin with .");
    for (const auto &other : buildings_) {
      if (other.description.name != name || other.file != building.file) continue;
      error(building, {}, "there is already a pipeline of this name, in line " + std::to_string(other.description.where.line));
      return;
    }
  }

  void add(Building &building, const RawEntry &entry) {
    if (!entry.wrong.empty()) {
      building.broken = true;
      error(building, {}, entry.wrong);
      return;
    }
    if (entry.component < 0) {
      add_function(building, entry.where, entry.function, OnError::drop);
      return;
    }
    RawComponent &component = in_.components[static_cast<size_t>(entry.component)];
    component.used = true;
    switch (component.form) {
      case Form::broken:
        building.broken = true;
        break;
      case Form::from:
        add_from(building, component);
        break;
      case Form::call:
        add_call(building, component);
        break;
      case Form::component:
        add_component(building, component, static_cast<size_t>(entry.component));
        break;
    }
  }

  // The order is sources, stages, sinks.
  void enter(Building &building, Part part, const Location &where, const std::string &label) {
    if (part >= building.part) {
      building.part = part;
      return;
    }
    error(building, where,
          label + (part == kSources ? ": sources come first, before stages and sinks" : ": stages come before the sinks"));
  }

  void add_function(Building &building, const Location &where, int reference, OnError on_error) {
    enter(building, kStages, where, "function");
    StageDescription stage;
    stage.kind = ATALAYA_TRANSLATOR;
    stage.name = "function";
    stage.where = place(building, where);
    stage.on_error = on_error;
    out_.functions.push_back(reference);
    stage.function = static_cast<int>(out_.functions.size());
    building.description.stages.push_back(std::move(stage));
  }

  void add_call(Building &building, const RawComponent &raw) {
    if (raw.function == LUA_NOREF) error(building, raw.where, "a.call takes a function first: a.call { function(s) ... end }");
    Value options = raw.parameters;
    if (!options.list.empty()) options.list.erase(options.list.begin());
    std::vector<Problem> problems = raw.problems;
    const auto parameters = Parameters::resolve(inline_call_params(), options, problems);
    for (const auto &problem : problems) error(building, raw.where, "function: " + text_of(problem));
    const Parameter *on_error = parameters.find("on_error");
    const bool pass = on_error != nullptr && on_error->text == "pass";
    add_function(building, raw.where, raw.function, pass ? OnError::pass : OnError::drop);
  }

  void add_from(Building &building, const RawComponent &raw) {
    enter(building, kSources, raw.where, label_of(raw));
    if (building.from) error(building, raw.where, label_of(raw) + ": a pipeline takes the output of one other");
    if (!building.description.sources.empty())
      error(building, raw.where, label_of(raw) + ": replaces the sources; use one or the other");
    building.from = true;
    building.from_where = place(building, raw.where);
    building.description.from = raw.name;
  }

  void add_component(Building &building, const RawComponent &raw, size_t index) {
    const Part part = raw.kind == ATALAYA_SOURCE ? kSources : raw.kind == ATALAYA_SINK ? kSinks : kStages;
    enter(building, part, raw.where, label_of(raw));
    if (part == kSinks) {
      add_sink(building, raw, index);
      return;
    }
    auto stage = checked(building, raw);
    if (!stage) return;
    if (part == kSources) {
      if (building.from) error(building, raw.where, label_of(raw) + ": a pipeline has sources or a.from, not both");
      ((stage->component.component->flags & ATALAYA_PUSH) != 0 ? building.pushes : building.pulls) = true;
      building.description.sources.push_back(std::move(*stage));
    } else {
      building.description.stages.push_back(std::move(*stage));
    }
  }

  std::optional<StageDescription> checked(Building &building, const RawComponent &raw) {
    std::vector<std::string> problems;
    auto stage = check_component(raw, registry_, problems);
    for (const auto &problem : problems) error(building, raw.where, problem);
    if (!stage) building.broken = true;
    if (stage) stage->where = place(building, raw.where);
    return stage;
  }

  // One value in several pipelines is one sink.
  void add_sink(Building &building, const RawComponent &raw, size_t index) {
    const auto known = sinks_.find(index);
    if (known != sinks_.end()) {
      auto &sinks = building.description.sinks;
      if (std::find(sinks.begin(), sinks.end(), known->second) != sinks.end())
        error(building, raw.where, label_of(raw) + ": appears twice in this pipeline");
      sinks.push_back(known->second);
      return;
    }
    auto sink = checked(building, raw);
    if (!sink) return;
    const size_t place = equal_in_other_file(*sink, raw.file).value_or(out_.description.sinks.size());
    sinks_.emplace(index, place);
    building.description.sinks.push_back(place);
    if (place < out_.description.sinks.size()) {
      sink_files_[place].insert(raw.file);
      return;
    }
    sink_labels_.push_back(building.label + label_of(raw) + ": ");
    sink_files_.push_back({raw.file});
    out_.description.sinks.push_back(std::move(*sink));
  }

  // A store has one writer, so equal sinks of different files are one.
  std::optional<size_t> equal_in_other_file(const StageDescription &sink, size_t file) const {
    const auto &sinks = out_.description.sinks;
    for (size_t i = 0; i < sinks.size(); ++i)
      if (!sink_files_[i].contains(file) && same(sinks[i], sink)) return i;
    return std::nullopt;
  }

  void check_every(Building &building, const Value &options) {
    const bool written =
        std::any_of(options.map.begin(), options.map.end(), [](const auto &member) { return member.first == "every"; });
    if (written && building.from) {
      error(building, {}, "every: the windows are those of the pipeline that a.from names; leave it out");
      return;
    }
    if (written && building.pushes && !building.pulls) {
      error(building, {}, "every: its sources give samples when they have some; leave it out");
      return;
    }
    std::vector<Problem> problems;
    const auto parameters = Parameters::resolve(pipeline_params(), options, problems);
    for (const auto &problem : problems) error(building, {}, text_of(problem));
    if (problems.empty() && !written && building.pulls && !building.from)
      error(building, {}, "every is missing: say how long a window is, as in every = \"5s\"");
    if (const Parameter *every = parameters.find("every")) building.description.every_ns = every->i64;
  }

  void check_parts(Building &building) {
    if (building.broken || building.from || !building.description.sources.empty()) return;
    error(building, {}, "there is no source; begin with one, such as a.source.proc {}, or with a.from \"pipeline\"");
  }

  const Building *named(const std::string &name) const {
    for (const auto &building : buildings_)
      if (building.description.name == name) return &building;
    return nullptr;
  }

  void check_froms() {
    std::vector<std::string> names;
    for (const auto &building : buildings_) names.push_back(building.description.name);
    for (const auto &building : buildings_) {
      if (!building.from) continue;
      const std::string &from = building.description.from;
      if (named(from) == nullptr) {
        error(building, building.from_where,
              "a.from " + in_quotes(from) + ": there is no pipeline of this name" + did_you_mean(from, names));
      } else {
        check_circle(building);
      }
    }
  }

  // A cycle is reported once, at its first pipeline.
  void check_circle(const Building &first) {
    std::string way = in_quotes(first.description.name);
    const Building *at = &first;
    for (size_t steps = 0; steps < buildings_.size() && at != nullptr && at->from; ++steps) {
      at = named(at->description.from);
      if (at == nullptr || at < &first) return;
      way += " -> " + in_quotes(at->description.name);
      if (at == &first) {
        error(first, first.from_where, "pipelines take each other's output in a circle: " + way);
        return;
      }
    }
  }

  void check_outputs() {
    for (const auto &building : buildings_) {
      if (building.broken || !building.description.sinks.empty() || building.part == kSinks) continue;
      const bool taken = std::any_of(buildings_.begin(), buildings_.end(), [&](const Building &other) {
        return other.from && other.description.from == building.description.name;
      });
      if (!taken)
        error(building, {}, "there is no sink, and no other pipeline takes its output; end with one, such as a.sink.stdout {}");
    }
    for (auto &building : buildings_) {
      files_.push_back(building.file);
      out_.description.pipelines.push_back(std::move(building.description));
    }
  }

  // Two sinks of one kind that write the same path would destroy each other's data.
  void check_shared_paths() {
    const auto &sinks = out_.description.sinks;
    for (size_t i = 0; i < sinks.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (sinks[i].name != sinks[j].name || !has_path(sinks[i]) || path_of(sinks[i]) != path_of(sinks[j])) continue;
        const std::string path = path_of(sinks[i]);
        const std::string remedy = sinks[i].where.file == sinks[j].where.file
                                       ? "use one sink for both: local db = a.sink." + sinks[i].name + " { ... }"
                                       : "give both the same parameters, and they are one sink";
        out_.errors.push_back({sinks[i].where, sink_labels_[i] + "path: " + (path.empty() ? "the default" : in_quotes(path)) +
                                                   " is already written by the sink in " +
                                                   place_text(sinks[j].where, sinks[i].where) + "; " + remedy});
        break;
      }
    }
  }
  void check_shared_spools() {
    const auto &sinks = out_.description.sinks;
    for (size_t i = 0; i < sinks.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (sinks[i].spool.dir.empty() || sinks[i].spool.dir != sinks[j].spool.dir) continue;
        out_.errors.push_back({sinks[i].where, sink_labels_[i] + "spool.dir: " + in_quotes(sinks[i].spool.dir) +
                                                   " is already the spool of the sink in " +
                                                   place_text(sinks[j].where, sinks[i].where) +
                                                   "; each sink needs a folder of its own"});
        break;
      }
    }
  }
  static bool has_path(const StageDescription &sink) {
    const Schema schema = schema_of(*sink.component.component);
    for (uint32_t i = 0; i < schema.count(); ++i)
      if (view_of(schema.at(i).name) == "path" && view_of(schema.at(i).unit) == kOutputFile) return true;
    return false;
  }
  static std::string path_of(const StageDescription &sink) {
    const Parameter *path = sink.parameters.find("path");
    return path == nullptr ? "" : std::filesystem::path(path->text).lexically_normal().string();
  }

  Evaluation &in_;
  Registry &registry_;
  Validation out_;
  std::vector<Building> buildings_;
  std::map<size_t, size_t> sinks_;        // declared component -> FileDescription::sinks
  std::vector<std::string> sink_labels_;  // parallel to FileDescription::sinks, as is sink_files_
  std::vector<std::set<size_t>> sink_files_;
  std::vector<size_t> files_;  // parallel to FileDescription::pipelines
};

}  // namespace

std::string line_of(const Report &report) {
  return prefix_of(report.where) + report.text;
}

std::string_view constructor_name(uint32_t kind) {
  return kind == ATALAYA_TRANSLATOR ? "translate" : kind_name(kind);
}

Validation validate(Evaluation &evaluation, Registry &registry) {
  return Validator(evaluation, registry).run();
}

}  // namespace atalaya::core

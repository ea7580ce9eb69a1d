// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/io/time/time_text.h"

namespace atalaya::phases {
namespace {

std::string fixed(double value, int decimals = 1) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "";
  return fixed(value, std::abs(value) >= 100 ? 0 : std::abs(value) >= 10 ? 1 : 2);
}

std::string with_deviation(const Moments &moments) {
  if (moments.count <= 0) return "";
  return short_number(moments.mean) + (moments.count > 1 ? " +-" + short_number(moments.deviation()) : "");
}

std::string heading_of(const Context &context) {
  std::string text = core::visible(context.phase);
  for (const std::string &phase : context.before)
    text += (&phase == &context.before.front() ? " after " : " <- ") + core::visible(phase);
  return text;
}

// The inputs of a linear model with the largest effects over the range of the training data, maximum three.
std::vector<std::string> strongest_inputs(const Model &model) {
  std::vector<std::pair<double, std::string>> strongest;
  for (size_t i = 0; model.is_linear && i < model.inputs.size(); ++i)
    if (const double weight = std::abs(model.linear.coefficients[i]) * (model.ranges[i].second - model.ranges[i].first); weight > 0)
      strongest.emplace_back(-weight, model.inputs[i]);
  std::sort(strongest.begin(), strongest.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min<size_t>(strongest.size(), 3); ++i) names.push_back(core::visible(strongest[i].second));
  return names;
}

// A table with groups of rows below headings, at most 80 columns wide unless names are too long.
class Groups {
 public:
  explicit Groups(command_line::Row header) : rows_{std::move(header)} {}

  void group(const std::string &heading) { heads_[rows_.size()] = heading; }
  void row(command_line::Row cells) {
    cells[0] = "  " + cells[0];
    rows_.push_back(std::move(cells));
  }
  // Adds words below the last row; a word that is longer than a line is cut.
  void note(std::string first, const std::vector<std::string> &words) {
    constexpr size_t kColumns = 80;
    std::string &text = notes_[rows_.size() - 1];
    std::string line = "    " + std::move(first);
    for (const std::string &word : words) {
      const std::string more = core::cut_to_width(word, kColumns - 7) + (&word == &words.back() ? "" : ",");
      if (core::display_width(line) + 1 + core::display_width(more) > kColumns) {
        text += line + "\n";
        line = "     ";
      }
      line += " " + more;
    }
    text += line + "\n";
  }

  bool is_empty() const { return rows_.size() == 1; }
  std::string text() const {
    std::string text;
    const std::string columns = command_line::as_columns(rows_);
    for (size_t row = 0, begin = 0; row < rows_.size(); ++row) {
      if (const auto head = heads_.find(row); head != heads_.end()) text += head->second + "\n";
      const size_t end = columns.find('\n', begin) + 1;
      text += columns.substr(begin, end - begin);
      begin = end;
      if (const auto note = notes_.find(row); note != notes_.end()) text += note->second;
    }
    return text;
  }

 private:
  std::vector<command_line::Row> rows_;
  std::map<size_t, std::string> heads_, notes_;  // by row number: headings before and notes after the row
};

}  // namespace

std::string amount_text(double value, Target target) {
  return short_number(value) + " " + std::string(kTargetUnits[static_cast<size_t>(target)]);
}

std::string time_of_run(const ProgramRun &run) {
  constexpr int64_t kSecond = 1'000'000'000;
  return io::time_text(run.steps.front().occurrence.start_ns / kSecond * kSecond);
}

std::vector<std::string> top_functions(const KnownPhase &phase, const Symbols &symbols, size_t maximum) {
  std::vector<Part> parts(phase.phase.profile.parts().begin(), phase.phase.profile.parts().end());
  std::sort(parts.begin(), parts.end(), [](const Part &a, const Part &b) { return a.threads > b.threads; });
  std::vector<std::string> names;
  for (const Part &part : parts) {
    if (names.size() >= maximum) break;
    std::string text = symbols.text(part.symbol);
    if (const size_t leaf = text.rfind(';'); leaf != std::string::npos) text = text.substr(leaf + 1);
    names.push_back(core::visible(text));
  }
  return names;
}

void add_statistics(PhaseDatabase &database, const std::vector<ProgramRun> &runs) {
  for (const ProgramRun &run : runs) {
    for (size_t i = 0; i < run.steps.size(); ++i) {
      for (KnownPhase &known : database.phases()) {
        if (known.application != run.process || known.id != run.steps[i].phase || run.steps[i].occurrence.is_open) continue;
        known.seconds.add(run.steps[i].occurrence.seconds());
        known.usage.add(run.steps[i].occurrence.usage);
        ++known.before[{i > 1 ? run.steps[i - 2].phase : "", i > 0 ? run.steps[i - 1].phase : ""}];
      }
    }
  }
}

std::string phases_table(const PhaseDatabase &database, const std::vector<ProgramRun> &runs) {
  PhaseDatabase filled = database;
  add_statistics(filled, runs);
  Groups table({"phase", "seen", "seconds", "CPU %", "memory MiB"});
  const std::string *program = nullptr;
  for (const KnownPhase &known : filled.phases()) {
    if (program == nullptr || *program != known.application) table.group(core::visible(known.application));
    program = &known.application;
    table.row({core::visible(known.id), fixed(known.seconds.count, 0), with_deviation(known.seconds),
               with_deviation(known.usage.by_resource[kCpu]), with_deviation(known.usage.by_resource[kMemory])});
    const double threads = known.phase.profile.threads().mean;
    table.note((threads > 0 ? short_number(threads) + " threads, " : "") + "epoch " + std::to_string(known.phase.epoch) + ":",
               top_functions(known, filled.symbols(), 3));
  }
  return table.text();
}

std::string runs_table(const std::vector<ProgramRun> &runs) {
  Groups table({"phase", "seconds", "CPU core-s", "memory MiB", "writes MiB"});
  for (const ProgramRun &run : runs) {
    table.group(time_of_run(run) + " " + core::visible(run.process) + " " + core::visible(run.pid));
    for (const Step &step : run.steps)
      table.row({core::visible(step.phase), step.occurrence.is_open ? "open" : short_number(step.occurrence.seconds()),
                 short_number(target_of(step.occurrence, Target::cpu)), short_number(target_of(step.occurrence, Target::memory)),
                 short_number(target_of(step.occurrence, Target::writes))});
  }
  return table.text();
}

std::string models_table(const Models &models, const std::string &process) {
  Groups table({"model", "runs", "from", "R2", "accuracy", "limit"});
  for (const auto &[context, targets] : models.all()) {
    table.group(heading_of(context));
    for (size_t t = 0; t < kTargets; ++t) {
      const auto &model = targets[t];
      if (!model) continue;
      table.row({std::string(kTargetTexts[t]), std::to_string(model->rows), model->is_linear ? "inputs" : "mean",
                 model->is_linear ? fixed(model->r2, 2) : "", fixed(model->accuracy) + " %",
                 fixed(std::exp(model->threshold), 2) + "x"});
      if (const auto names = strongest_inputs(*model); !names.empty()) table.note("inputs:", names);
    }
  }
  return table.is_empty() ? "no model of " + core::visible(process) + ": each phase needs " + std::to_string(kMinRuns) +
                                " runs with the same phases before it\n"
                          : table.text();
}

std::vector<Observation> predictable(const ProgramRun &run, const Models &models) {
  std::vector<Observation> all;
  for (size_t i = run.first; i < run.steps.size(); ++i) all.push_back(observation_of(run, i, models.dependent()));
  Observation next = observation_of(run, run.steps.size(), models.dependent());
  next.context.phase = models.next_phase(run);
  if (!next.context.phase.empty()) all.push_back(std::move(next));
  return all;
}

std::string predictions_table(const ProgramRun &run, const Models &models) {
  Groups table({"phase", "predicted", "seen", "from", "R2", "accuracy"});
  for (const Observation &observation : predictable(run, models)) {
    table.group(core::visible(observation.context.phase));
    for (size_t t = 0; t < kTargets; ++t) {
      const auto target = static_cast<Target>(t);
      const auto predicted = models.predict(observation, target);
      if (!predicted) continue;
      const bool is_seen = observation.step != nullptr && !observation.step->occurrence.is_open;
      const double seen = is_seen ? target_of(observation.step->occurrence, target) : NAN;
      table.row({std::string(kTargetTexts[t]), amount_text(predicted->value, target),
                 std::isfinite(seen) ? amount_text(seen, target)
                 : is_seen           ? ""
                                     : "next",
                 predicted->model->is_linear ? "inputs" : "mean", predicted->model->is_linear ? fixed(predicted->model->r2, 2) : "",
                 fixed(predicted->model->accuracy) + " %"});
    }
  }
  return table.is_empty()
             ? "no prediction: each phase needs " + std::to_string(kMinRuns) + " earlier runs with the same phases before it\n"
             : table.text();
}

}  // namespace atalaya::phases

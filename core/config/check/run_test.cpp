// SPDX-License-Identifier: Apache-2.0
#include "core/config/check/run_test.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <memory>

#include "core/base/encode/flat.h"
#include "core/base/encode/line_encoder.h"
#include "core/base/files.h"
#include "core/base/text/text.h"
#include "core/config/functions/functions.h"
#include "core/plugin/instance.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxRecorded = size_t{256} << 20;

atalaya_window window_of(const TestCase &test, int64_t number) {
  atalaya_window window{};
  window.struct_size = sizeof(window);
  window.time_ns = test.time_ns + number * test.interval_ns;
  window.duration_ns = window.interval_ns = test.interval_ns;
  window.monotonic_ns = (number + 1) * test.interval_ns;
  return window;
}

void add(const TestSample &from, Symbols &symbols, Batch &to) {
  atalaya_sample &sample = to.add_sample(from.kind);
  sample.time_ns = from.time_ns;
  sample.duration_ns = from.duration_ns;
  sample.text = to.copy(from.text);
  for (const auto &[key, value] : from.tags) to.add_tag(sample, symbols.intern(key), value);
  for (const auto &[name, value] : from.fields) {
    atalaya_field field = value;
    field.name = symbols.intern(name);
    to.add_field(sample, field);
  }
}

// A recording has one record per window.
Status add_recording(const std::string &path, Symbols &symbols, std::vector<std::unique_ptr<Batch>> &windows) {
  auto bytes = read_file(path, kMaxRecorded);
  if (!bytes) return Error{bytes.error()};
  std::string_view rest = *bytes;
  while (!rest.empty()) {
    windows.push_back(std::make_unique<Batch>());
    const auto decoded = decode_flat(rest, symbols, *windows.back());
    if (!decoded) return Error{path + ": " + decoded.error()};
    if (decoded.value().truncated()) return Error{path + ": ends in the middle of a record"};
    rest.remove_prefix(decoded.value().size);
  }
  return Done{};
}

// One line per sample, with tags and fields sorted by name, so that equal samples have equal lines.
class Lines {
 public:
  explicit Lines(Symbols &symbols)
      : symbols_(symbols), encoder_(encoders::make_samples([&symbols](uint32_t id) { return symbols.name(id); })) {}

  void add(const atalaya_batch &batch) {
    for (uint64_t i = 0; i < batch.count; ++i) lines_.push_back(line(batch.samples[i]));
  }
  std::vector<std::string> sorted() && {
    std::sort(lines_.begin(), lines_.end());
    return std::move(lines_);
  }

 private:
  std::string line(atalaya_sample sample) {
    std::vector<atalaya_tag> tags(sample.tags, sample.tags + sample.tag_count);
    std::vector<atalaya_field> fields(sample.fields, sample.fields + sample.field_count);
    std::sort(tags.begin(), tags.end(),
              [this](const auto &a, const auto &b) { return symbols_.name(a.key) < symbols_.name(b.key); });
    std::sort(fields.begin(), fields.end(),
              [this](const auto &a, const auto &b) { return symbols_.name(a.name) < symbols_.name(b.name); });
    sample.tags = tags.data();
    sample.fields = fields.data();
    std::string text;
    encoder_->append(sample, text);
    text.pop_back();
    return text;
  }

  Symbols &symbols_;
  std::unique_ptr<Encoder> encoder_;
  std::vector<std::string> lines_;
};

// The stages of a pipeline, created for one case.
class Stages {
 public:
  explicit Stages(const PipelineDescription &pipeline) : pipeline_(pipeline) {}

  Status start(Symbols &symbols, Launcher *launcher) {
    for (const auto &stage : pipeline_.stages) {
      instances_.push_back(nullptr);
      if (stage.function != 0) continue;
      const std::string label = std::string(kind_name(stage.kind)) + " " + in_quotes(stage.name);
      auto created = make_instance(stage.isolation, stage.component, stage.parameters, label, symbols, surroundings_, launcher);
      if (!created) return Error{created.error()};
      instances_.back() = std::move(*created);
      if (const Outcome started = instances_.back()->start(); !started.ok()) return Error{label + ": " + started.text};
    }
    return Done{};
  }

  Status process(const atalaya_window &window, Batch &batch, std::vector<std::string> &notes) {
    for (size_t i = 0; i < pipeline_.stages.size(); ++i) {
      const StageDescription &stage = pipeline_.stages[i];
      if (stage.function != 0) {
        const auto result = pipeline_.functions->apply(stage.function, batch, stage.on_error == OnError::pass);
        if (result.failed > 0) notes.push_back(result.error);
      } else if (const Outcome outcome = instances_[i]->process(window, batch); !outcome.ok()) {
        return Error{instances_[i]->label() + ": " + outcome.text};
      }
    }
    return Done{};
  }

 private:
  const PipelineDescription &pipeline_;
  Surroundings surroundings_;
  std::vector<std::unique_ptr<Instance>> instances_;  // parallel to the stages; null for inline functions
};

Result<std::vector<std::string>> expected_lines(const TestSamples &expect, Symbols &symbols) {
  if (expect.file.empty()) {
    Batch batch;
    for (const auto &sample : expect.samples) add(sample, symbols, batch);
    Lines lines(symbols);
    lines.add(batch.raw());
    return std::move(lines).sorted();
  }
  auto text = read_file(expect.file, kMaxRecorded);
  if (!text) return Error{text.error() + "; atalaya test --update writes it"};
  std::vector<std::string> lines;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = cut_at(rest, '\n');
    if (!line.empty()) lines.emplace_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

Status write_lines(const std::string &path, const std::vector<std::string> &lines) {
  std::FILE *file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return Error{path + ": " + error_text(errno)};
  for (const auto &line : lines) std::fprintf(file, "%s\n", line.c_str());
  if (std::fclose(file) != 0) return Error{path + ": " + error_text(errno)};
  return Done{};
}

}  // namespace

Result<TestOutcome> run_test(const FileDescription &file, const TestCase &test, Symbols &symbols, bool update, Launcher *launcher) {
  std::vector<std::unique_ptr<Batch>> windows;
  if (test.input.file.empty()) {
    windows.push_back(std::make_unique<Batch>());
    for (const auto &sample : test.input.samples) add(sample, symbols, *windows.back());
  } else if (const Status read = add_recording(test.input.file, symbols, windows); !read) {
    return Error{read.error()};
  }
  TestOutcome outcome;
  Stages stages(file.pipelines.at(test.pipeline));
  if (const Status started = stages.start(symbols, launcher); !started) return Error{started.error()};
  Lines given(symbols);
  for (size_t i = 0; i < windows.size(); ++i) {
    const Status processed = stages.process(window_of(test, static_cast<int64_t>(i)), *windows[i], outcome.notes);
    if (!processed) return Error{processed.error()};
    given.add(windows[i]->raw());
  }
  const auto lines = std::move(given).sorted();
  if (update && !test.expect.file.empty()) {
    if (const Status written = write_lines(test.expect.file, lines); !written) return Error{written.error()};
    outcome.updated = true;
    return outcome;
  }
  const auto expected = expected_lines(test.expect, symbols);
  if (!expected) return Error{expected.error()};
  std::set_difference(expected.value().begin(), expected.value().end(), lines.begin(), lines.end(),
                      std::back_inserter(outcome.missing));
  std::set_difference(lines.begin(), lines.end(), expected.value().begin(), expected.value().end(),
                      std::back_inserter(outcome.unexpected));
  return outcome;
}

}  // namespace atalaya::core

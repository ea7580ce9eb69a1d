// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/recorder_filter.h"

#include <algorithm>

namespace atalaya::recorder {
namespace {

// Maximum samples of a recording that are passed per second. If a sink could not accept a complete recording in one call, it would
// pause the pipeline, and the recording would have a gap at its trigger.
constexpr double kPace = 5'000;

// At least this multiple of the arriving samples is passed, so that a recording ends.
uint64_t samples_per_window(const Window &window, uint64_t arrived) {
  const double usual = std::min(kPace * static_cast<double>(window.interval_ns) / 1e9, kPace);
  return std::max(static_cast<uint64_t>(usual), 4 * arrived);
}

std::string name_of(Host host) {
  std::string name = host.text("name");
  const bool is_file_name = !name.empty() && name.size() <= 64 && name.find('/') == std::string::npos;
  if (!is_file_name) throw Failure(Code::bad_config, "parameter \"name\": \"" + name + "\" is not a file name of at most 64 bytes");
  return name;
}

}  // namespace

RecorderFilter::Names::Names(Host host)
    : recording(host.intern("recording")),
      cause(host.intern("cause")),
      samples(host.intern("recorder.samples")),
      triggers(host.intern("recorder.triggers")),
      lost(host.intern("recorder.lost")) {}

RecorderFilter::RecorderFilter(Host host)
    : host_(host),
      names_(host),
      name_(name_of(host)),
      limits_{.bytes = static_cast<size_t>(host.integer("size")),
              .keep_ns = host.integer("keep"),
              .after_ns = host.integer("after"),
              .longest_ns = host.integer("longest")},
      triggers_(host, host.texts("on")) {}

void RecorderFilter::start() {
  recorder_.emplace(limits_);
  const core::Status opened = server_.open(socket_path(core::runtime_folder(), name_));
  if (!opened) host_.log(Level::warning, opened.error() + "; atalaya record and the sink recorder cannot start a recording");
}

void RecorderFilter::stop() {
  server_.close();
  recorder_.reset();
}

// All samples are stored in the ring; those of a recording are read from it in the order of windows, each once.
Code RecorderFilter::process(const Window &window, Batch &batch) {
  const uint64_t arrived = batch.samples().size();
  recorder_->add(window, batch.samples());
  host_.dropped("filtered", arrived);  // counted here, because a recorder may pass nothing for days without a warning
  for (const Sample &sample : batch.samples())
    if (const auto cause = triggers_.cause_of(sample)) trigger({*cause, std::nullopt, false}, window.time_ns);
  server_.serve([&](const Request &request) { return trigger({request.cause, request.last_ns, request.is_user}, window.time_ns); });
  batch.truncate(0);
  if (const auto complete = recorder_->pass(batch, samples_per_window(window, arrived))) emit(*complete, batch);
  host_.created(batch.samples().size());
  return Code::ok;
}

Answer RecorderFilter::trigger(const Trigger &trigger, int64_t now_ns) {
  const bool is_first = !recorder_->recording();
  const Recording *const recording = recorder_->trigger(trigger, now_ns);
  if (recording == nullptr) return {};
  if (is_first) host_.log(Level::info, "recording: " + trigger.cause);
  return {recording->from_ns, recording->until_ns};
}

void RecorderFilter::emit(const Recording &recording, Batch &batch) const {
  Sample &span = batch.add(ATALAYA_SPAN, 2, 3);
  span.time_ns = recording.from_ns;
  span.duration_ns = recording.until_ns - recording.from_ns;
  span.text = batch.copy("recording");
  batch.tag(span, names_.recording, name_);
  batch.tag(span, names_.cause, recording.cause);
  batch.field(span, names_.samples, static_cast<int64_t>(recording.samples));
  batch.field(span, names_.triggers, static_cast<int64_t>(recording.triggers));
  batch.field(span, names_.lost, static_cast<int64_t>(recording.lost));
}

}  // namespace atalaya::recorder

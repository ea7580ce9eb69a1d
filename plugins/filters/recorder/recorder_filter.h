// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "plugins/filters/recorder/recorder.h"
#include "plugins/filters/recorder/trigger_list.h"
#include "plugins/filters/recorder/trigger_socket.h"

namespace atalaya::recorder {

inline constexpr MetricTag kRecordingTags[] = {metric::identity("host"), metric::identity("recording"), metric::identity("cause")};

// Stores all samples in memory for some time; passes those around a trigger and drops the rest.
class RecorderFilter final : public Filter {
 public:
  static constexpr Param kPattern[] = {param::string("", "Tag and pattern").unit("TAG=PATTERN")};
  static constexpr Param kParams[] = {
      param::string("name", "Name of the recorder, in its socket and its recordings").defaults("main"),
      param::duration("keep", "Time before a trigger that is kept").defaults("2m").range(1e9, 3600e9),
      param::size("size", "Maximum memory of the samples that are kept; they reach back less far if it is too small")
          .defaults("16 MiB")
          .range(1 << 20, 4e9),
      param::duration("after", "Time after the last trigger that is recorded, too").defaults("10s").range(0, 600e9),
      param::duration("longest", "Maximum time of a recording from its first trigger; then samples start none for as long")
          .defaults("5m")
          .range(1e9, 3600e9),
      param::list("on", kPattern, "Samples of this pipeline that start a recording")
          .defaults("event=oom kill,event=crash,event=read-only,alert=*,record=*"),
  };
  static constexpr Metric kMetrics[] = {
      metric::gauge("recorder.samples", "1", metric::count, kRecordingTags, "the recorder", "Samples of the recording"),
      metric::gauge("recorder.triggers", "1", metric::count, kRecordingTags, "the recorder", "Triggers of the recording"),
      metric::gauge("recorder.lost", "1", metric::count, kRecordingTags, "size", "Samples that the recording lacks"),
  };
  static constexpr Description description = {.name = "recorder"_str,
                                              .summary = "Keep samples in memory, pass those around a trigger"_str,
                                              .params = kParams,
                                              .metrics = kMetrics};

  explicit RecorderFilter(Host host);
  void start() override;
  void stop() override;
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Names {
    explicit Names(Host host);
    uint32_t recording, cause, samples, triggers, lost;
  };
  Answer trigger(const Trigger &trigger, int64_t now_ns);
  void emit(const Recording &recording, Batch &batch) const;

  Host host_;
  const Names names_;
  const std::string name_;
  const Limits limits_;
  TriggerList triggers_;
  TriggerServer server_;
  std::optional<Recorder> recorder_;
};

}  // namespace atalaya::recorder

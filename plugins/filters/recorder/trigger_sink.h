// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <optional>
#include <span>

#include "plugins/filters/recorder/trigger_list.h"

namespace atalaya::recorder {

// Starts recordings for samples of another pipeline, such as its alerts.
class TriggerSink final : public Sink {
 public:
  static constexpr Param kPattern[] = {param::string("", "Tag and pattern").unit("TAG=PATTERN")};
  static constexpr Param kParams[] = {
      param::list("on", kPattern, "Samples that start a recording").defaults("alert=*,event=oom kill,event=crash,record=*"),
      param::duration("last", "Time before the trigger that is recorded (default: all that is kept)").range(0, 3600e9),
  };
  static constexpr Description description = {
      .name = "recorder"_str, .summary = "Start recordings of this host's recorders"_str, .params = kParams};

  explicit TriggerSink(Host host);
  Code write(std::span<const Sample> samples, int64_t &retry_after_ns) override;
  Code flush(int64_t) override { return Code::ok; }

 private:
  Host host_;
  TriggerList triggers_;
  std::optional<int64_t> last_ns_;
};

}  // namespace atalaya::recorder

// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/trigger_sink.h"

#include "core/base/files.h"
#include "plugins/filters/recorder/trigger_socket.h"

namespace atalaya::recorder {

TriggerSink::TriggerSink(Host host) : host_(host), triggers_(host, host.texts("on")) {
  if (const auto last = host.find("last")) last_ns_ = last->integer();
}

// A trigger is not repeated for a stopped or busy recorder: a later recording would not have the samples around it.
Code TriggerSink::write(std::span<const Sample> samples, int64_t &) {
  for (const Sample &sample : samples) {
    const bool has_ended =
        sample.kind == ATALAYA_SPAN && sample.duration_ns > 0 && find_tag(sample, host_.intern("alert")) != nullptr;
    const auto cause = has_ended ? std::nullopt : triggers_.cause_of(sample);
    if (!cause) continue;
    for (const RecorderSocket &recorder : find_recorders(core::runtime_folder())) {
      const auto sent = send_request(recorder.path, {last_ns_, false, *cause}, 0);
      if (!sent) host_.log(Level::warning, "no recording of " + *cause + ": " + sent.error());
    }
  }
  return Code::ok;
}

}  // namespace atalaya::recorder

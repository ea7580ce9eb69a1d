// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/record_command.h"

#include <algorithm>
#include <cstdio>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/text/safe_text.h"
#include "core/base/text/units.h"
#include "plugins/filters/recorder/trigger_socket.h"

namespace atalaya::recorder {
namespace {

constexpr int kTimeoutMs = 5000;  // a recorder answers once per window of its pipeline
constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

RecordCommand::RecordCommand(Host host) : host_(host) {
  const auto folder = host.find("folder");
  folder_ = folder ? std::string(folder->text()) : core::runtime_folder();
}

int RecordCommand::run(std::span<const atalaya_str>) {
  Request request{std::nullopt, true, host_.text("cause")};
  if (const auto last = host_.find("last")) request.last_ns = last->integer();
  int64_t until_ns = 0;
  for (const RecorderSocket &recorder : find_recorders(folder_)) {
    auto answer = send_request(recorder.path, request, kTimeoutMs);
    if (!answer) {
      std::fprintf(stderr, "atalaya record: %s\n", answer.error().c_str());
      continue;
    }
    std::printf("%s: recording of %s\n", core::visible(recorder.name).c_str(),
                core::format_duration((answer->until_ns - answer->from_ns) / kSecond * kSecond).c_str());
    until_ns = std::max(until_ns, answer->until_ns);
  }
  if (until_ns == 0) {
    std::fprintf(stderr,
                 "atalaya record: no recorder answers in %s; run pipelines/recorder.lua, or name its folder with --folder\n",
                 folder_.c_str());
    return 1;
  }
  std::printf("It ends %lld s after now. Then, for Perfetto:\n  atalaya trace --store RECORDINGS --recording -o recording.json\n",
              static_cast<long long>(std::max<int64_t>(until_ns / kSecond - core::realtime() / kSecond, 0)));
  return 0;
}

}  // namespace atalaya::recorder

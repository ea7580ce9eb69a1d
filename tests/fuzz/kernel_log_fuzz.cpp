// SPDX-License-Identifier: Apache-2.0
// Records of /dev/kmsg. Each text in a result is part of the input.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "plugins/sources/kernel/log_message.h"

using namespace atalaya::kernel;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view input) {
  const auto inside = [input](std::string_view part) {
    require(part.empty() || (part.data() >= input.data() && part.data() + part.size() <= input.data() + input.size()));
  };
  const Message message = parse_message(input);
  if (const auto *kill = std::get_if<Kill>(&message)) {
    require(kill->pid > 0 && kill->resident_kib < uint64_t{1} << 60);
    inside(kill->process);
  }
  if (const auto *place = std::get_if<KillCgroup>(&message)) {
    require(place->pid > 0 && place->cgroup.starts_with('/'));
    inside(place->cgroup);
  }
  if (const auto *crash = std::get_if<Crash>(&message)) {
    require(crash->thread > 0 && !crash->process.empty() && !crash->kind.empty());
    for (const std::string_view part : {crash->process, crash->file}) inside(part);
  }
  if (const auto *error = std::get_if<FileSystemError>(&message)) {
    require(!error->device.empty());
    inside(error->device);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (const auto record = parse_record(bytes)) {
    require(record->time_ns >= 0 && record->text.find('\n') == std::string_view::npos);
    check(record->text);
  }
  check(bytes);
  return 0;
}

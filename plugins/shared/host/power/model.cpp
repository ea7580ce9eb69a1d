// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/text/text.h"

namespace atalaya::power {
namespace {

constexpr size_t kMaxStatSize = size_t{256} << 10;  // bytes to read: enough for the lines of 3,000 cores

}  // namespace

std::optional<Model> model_of(const Host &host) {
  if (!host.find("model")) return std::nullopt;
  const Model model{host.number("model.idle"), host.number("model.full")};
  if (model.full_watts <= 0 || model.idle_watts > model.full_watts)
    throw Failure(Code::bad_config,
                  "parameter \"model\": full must be above 0 W and at least idle, such as { idle = 40, full = 180 }");
  return model;
}

std::optional<Ticks> parse_ticks(std::string_view text) {
  std::string_view line = core::cut_at(text, '\n');
  if (procfs::next_word(line) != "cpu") return std::nullopt;
  // user nice system idle iowait irq softirq steal; guests are in user and nice.
  std::array<uint64_t, 8> ticks{};
  size_t count = 0;
  while (count < ticks.size() && procfs::next_number(line, ticks[count])) {
    if (ticks[count] > UINT64_MAX / 16) return std::nullopt;
    ++count;
  }
  if (count < 4) return std::nullopt;
  Ticks found{ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6], ticks[3] + ticks[4], ticks[7]};
  while (core::cut_at(text, '\n').starts_with("cpu")) ++found.cores;
  return found.cores > 0 ? std::optional(found) : std::nullopt;
}

std::optional<Busy> BusyTime::take() {
  buffer_.resize(kMaxStatSize);
  const procfs::FileText text = file_.read(tree_.folder(), buffer_);
  const auto now = text.ok() ? parse_ticks(text.text) : std::nullopt;
  const auto before = std::exchange(last_, now);
  if (!now || !before || now->busy < before->busy) return std::nullopt;
  // The kernel may reduce its iowait counter.
  const uint64_t busy = now->busy - before->busy, idle = now->idle - std::min(now->idle, before->idle);
  if (busy + idle == 0) return std::nullopt;
  const uint64_t stolen = now->stolen - std::min(now->stolen, before->stolen);
  const auto used = static_cast<double>(busy);
  return Busy{100 * static_cast<double>(now->cores) * used / static_cast<double>(busy + idle + stolen),
              used / static_cast<double>(busy + idle)};
}

}  // namespace atalaya::power

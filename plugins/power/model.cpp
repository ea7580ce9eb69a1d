// SPDX-License-Identifier: Apache-2.0
#include "plugins/power/model.h"

#include <array>

namespace atalaya::power {

std::optional<Model> model_of(const Host &host) {
  if (!host.find("model")) return std::nullopt;
  const Model model{host.number("model.idle"), host.number("model.full")};
  if (model.full_watts <= 0 || model.idle_watts > model.full_watts)
    throw Failure(Code::bad_config, "\"model\": full must be above 0 W and at least idle, such as { idle = 40, full = 180 }");
  return model;
}

std::optional<Ticks> parse_ticks(std::string_view text) {
  std::string_view line = proc::next_line(text);
  if (proc::next_word(line) != "cpu") return std::nullopt;
  // user nice system idle iowait irq softirq steal; guests are in user and nice. What was stolen was not there to be used.
  std::array<uint64_t, 7> ticks{};
  size_t count = 0;
  while (count < ticks.size() && proc::next_number(line, ticks[count])) {
    if (ticks[count] > UINT64_MAX / 16) return std::nullopt;
    ++count;
  }
  if (count < 4) return std::nullopt;
  const uint64_t busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
  return Ticks{busy, busy + ticks[3] + ticks[4]};
}

std::optional<Busy> BusyTime::take(size_t cores) {
  std::array<char, 4096> buffer{};
  const proc::FileText text = file_.read(tree_.folder(), buffer);
  const auto now = text.ok() ? parse_ticks(text.text) : std::nullopt;
  const auto before = last_;
  last_ = now;
  if (!now || !before || now->busy < before->busy || now->all <= before->all) return std::nullopt;
  const uint64_t busy = now->busy - before->busy, all = now->all - before->all;
  if (busy > all) return std::nullopt;  // idle time was taken back
  const double share = static_cast<double>(busy) / static_cast<double>(all);
  return Busy{share * 100 * static_cast<double>(cores), share};
}

}  // namespace atalaya::power

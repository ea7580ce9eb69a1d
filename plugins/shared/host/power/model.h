// SPDX-License-Identifier: Apache-2.0
// Estimates power from utilisation for hosts without a meter: a linear model between two values of the operator, from a power
// meter or a data sheet. The results have the tag quality = model.
#pragma once

#include <atalaya/plugin.hpp>

#include <optional>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::power {

struct Model {
  double idle_watts = 0, full_watts = 0;
  double watts(double utilisation) const { return idle_watts + (full_watts - idle_watts) * utilisation; }
};

inline constexpr Param kModelParams[] = {
    param::number("idle", "Power of the idle host").required().range(0, 100000).unit("W"),
    param::number("full", "Power of the host with all cores busy").required().range(0, 100000).unit("W"),
};
inline constexpr Param kModelParam = param::record(
    "model", kModelParams, "Power from utilisation where no meter exists, tagged quality = model (default: no estimate)");
// Throws Failure for invalid values.
std::optional<Model> model_of(const Host &host);

// CPU time of all cores in ticks, from the first lines of /proc/stat.
struct Ticks {
  uint64_t busy = 0, idle = 0, stolen = 0;
  size_t cores = 0;
};
std::optional<Ticks> parse_ticks(std::string_view text);

// CPU use between two readings.
struct Busy {
  double percent = 0;  // per cent of one core, as in proc.cpu.*: 200 if two cores are busy
  double share = 0;    // share of all cores, 0 to 1
};
class BusyTime {
 public:
  explicit BusyTime(const procfs::Tree &tree) : tree_(tree) {}
  // The CPU use since the last call; absent in the first call and after `forget`.
  std::optional<Busy> take();
  void forget() { last_.reset(); }

 private:
  const procfs::Tree &tree_;
  procfs::PersistentFile file_{"proc/stat"};
  std::vector<char> buffer_;
  std::optional<Ticks> last_;
};

}  // namespace atalaya::power

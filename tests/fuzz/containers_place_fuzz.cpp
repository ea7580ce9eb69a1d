// SPDX-License-Identifier: Apache-2.0
// The text of /proc/PID/cgroup.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/shared/host/cgroup/place.h"

using namespace atalaya;
using namespace atalaya::cgroup;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_place(std::string_view path) {
  const cgroup::Place place = place_of(path);
  require((place.runtime == cgroup::Runtime::none) == place.id.empty());
  if (place.runtime != cgroup::Runtime::lxc && place.runtime != cgroup::Runtime::nspawn)
    require(place.id.empty() || cgroup::is_container_id(place.id));
  require(place.pod.empty() || place.pod.size() == 32 || place.pod.size() == 36);
  require(place.id.size() <= path.size() && place.unit.size() <= path.size() && place.slice.size() <= path.size());
  for (const std::string_view text : {std::string_view(place.id), std::string_view(place.unit), std::string_view(place.slice)})
    require(text.find('/') == std::string_view::npos || path.find("\\x2f") != std::string_view::npos);
  require(cgroup::container_of(path).empty() == place.id.empty());
  require(cgroup::unit_of(path).empty() == place.unit.empty());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const std::string_view path = cgroup::parse_cgroup(text);
  require(path.empty() || path[0] == '/');
  check_place(path);
  check_place(text);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// State files of container runtimes; the first byte selects the file.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/shared/host/cgroup/place.h"
#include "plugins/shared/host/containers/state_json.h"
#include "plugins/shared/host/containers/workload.h"

using namespace atalaya;
using namespace atalaya::containers;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(Reading reading, const Container &container) {
  require((reading == Reading::found) == !container.name.empty());
  require(container.name.size() <= 3 * kMaxName + 2 && container.pod.size() <= kMaxName && container.name_space.size() <= kMaxName);
  require(container.pod.starts_with(workload_of(container.pod)));
  require(container.project.size() <= kMaxName && container.service.size() <= kMaxName);
}

void check_list(std::string_view text) {
  StorageList list;
  require((read_storage_list(text, list) == Reading::found) == !list.empty());
  for (const auto &[id, container] : list) {
    require(cgroup::is_container_id(id));
    check(Reading::found, container);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  Container container;
  switch (data[0]) {
    case 'd':
      check(read_docker_config(text, std::string(64, 'd'), container), container);
      break;
    case 'o':
      check(read_oci_config(text, container), container);
      break;
    case 's':
      check_list(text);
      break;
    case 'r':
      if (const auto folder = read_docker_data_root(text)) require(folder->starts_with('/'));
      break;
    case 'p':
      require(home_in_passwd(text, 1000).size() <= text.size());
      break;
    default:
      break;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The programs of both profiles as the kernel has them.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "bpf/perf.h"
#include "core/base/files.h"
#include "perf.skel.h"
#include "plugins/shared/host/bpf/loading.h"
#include "tests/unit/without_bpf.h"

namespace atalaya::perf {
namespace {

struct Close {
  void operator()(perf_bpf *skeleton) const { perf_bpf__destroy(skeleton); }
};

// Those of the least used, whose locks know no interruption.
std::vector<uint32_t> lru_maps_of(const bpf_program *program) {
  std::array<uint32_t, 64> ids{};
  bpf_prog_info info{};
  info.nr_map_ids = ids.size();
  info.map_ids = reinterpret_cast<uint64_t>(ids.data());
  uint32_t size = sizeof(info);
  REQUIRE(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0);
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < std::min<uint32_t>(info.nr_map_ids, ids.size()); ++i) {
    const core::Descriptor map(bpf_map_get_fd_by_id(ids[i]));
    bpf_map_info of_map{};
    uint32_t bytes = sizeof(of_map);
    REQUIRE(bpf_obj_get_info_by_fd(map.get(), &of_map, &bytes) == 0);
    if (of_map.type == BPF_MAP_TYPE_LRU_HASH) found.push_back(ids[i]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("a tick that interrupts the other program waits for none of its locks") {
  if (const core::Status usable = bpf::check(); !usable) {
    tests::skip_without_bpf(usable.error());
    return;
  }
  bpf::capture_messages();
  const std::unique_ptr<perf_bpf, Close> skeleton(perf_bpf__open());
  REQUIRE(skeleton);
  REQUIRE(perf_bpf__load(skeleton.get()) == 0);
  const auto tick = lru_maps_of(skeleton->progs.on_tick), on_switch = lru_maps_of(skeleton->progs.on_switch);
  CHECK_FALSE(tick.empty());
  CHECK_FALSE(on_switch.empty());
  std::vector<uint32_t> both;
  std::set_intersection(tick.begin(), tick.end(), on_switch.begin(), on_switch.end(), std::back_inserter(both));
  CHECK(both.empty());
}

}  // namespace atalaya::perf

// SPDX-License-Identifier: Apache-2.0
// A profile of pprof: a gzipped message "Profile". Source: github.com/google/pprof, proto/profile.proto. Pure.
//   Profile   1 ValueType..., 2 Sample..., 4 Location..., 5 Function..., 6 text..., 9 start, 10 duration (ns)
//   ValueType 1 type, 2 unit                    Sample   1 location..., leaf first, 2 value, 3 Label...
//   Label     1 key, 2 text                     Location 1 id, 4 Line {1 function}
//   Function  1 id, 2 name, 3 system name
// Types, names, keys and units are indexes into the texts, of which the first is empty. The number of an id is not 0.
// Written only: a location and a function for each name, because stored stacks have no addresses and no lines.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace atalaya::protocols {

struct PprofLabel {
  std::string_view key, value;
};

// Writes one profile. All texts must be valid until finish().
class PprofWriter {
 public:
  PprofWriter(std::string_view type, std::string_view unit);

  // The leaf is the first frame.
  void add(std::span<const std::string_view> frames, int64_t value, std::span<const PprofLabel> labels);
  void set_time(int64_t start_ns, int64_t duration_ns);
  // The gzipped message. Call it once. Throws if the profile is too large for gzip.
  std::string finish();

 private:
  int64_t text(std::string_view value);
  uint64_t location_of(std::string_view name);

  std::string bytes_;
  protozero::pbf_writer out_{bytes_};
  std::unordered_map<std::string_view, int64_t> numbers_;
  std::vector<std::string_view> texts_;
  std::vector<bool> written_;  // by id of a location: the location was written
  std::vector<uint64_t> path_;
  std::vector<std::pair<int64_t, int64_t>> labels_;
};

}  // namespace atalaya::protocols

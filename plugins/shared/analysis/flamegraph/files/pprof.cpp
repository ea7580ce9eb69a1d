// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/files/pprof.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <protozero/pbf_writer.hpp>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace atalaya::flamegraph {
namespace {

// Field numbers of profile.proto.
namespace profile {
constexpr protozero::pbf_tag_type kSampleType = 1, kSample = 2, kLocation = 4, kFunction = 5, kStrings = 6, kTime = 9,
                                  kDuration = 10;
}
namespace value_type {
constexpr protozero::pbf_tag_type kType = 1, kUnit = 2;
}
namespace sample {
constexpr protozero::pbf_tag_type kLocations = 1, kValues = 2, kLabel = 3;
}
namespace label {
constexpr protozero::pbf_tag_type kKey = 1, kText = 2;
}
namespace location {
constexpr protozero::pbf_tag_type kId = 1, kLine = 4;
}
namespace line {
constexpr protozero::pbf_tag_type kFunction = 1;
}
namespace function {
constexpr protozero::pbf_tag_type kId = 1, kName = 2, kSystemName = 3;
}

std::string gzipped(std::string_view bytes) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib has no memory for the profile");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("the profile is too large for gzip");
  return out;
}

class ProfileWriter {
 public:
  ProfileWriter(const Tree &tree, const ProfileInfo &info) : tree_(tree), info_(info) {}

  std::string write() {
    text("");  // the first string of every profile
    write_type();
    for (uint32_t node = 1; node < tree_.size(); ++node)
      if (tree_.node(node).self[0] > 0) write_sample(node);
    if (info_.from_ns < info_.to_ns) {
      out_.add_int64(profile::kTime, info_.from_ns);
      out_.add_int64(profile::kDuration, info_.to_ns - info_.from_ns);
    }
    for (const std::string_view one : texts_) out_.add_string(profile::kStrings, one.data(), one.size());
    return gzipped(bytes_);
  }

 private:
  int64_t text(std::string_view value) {
    const auto [at, is_new] = numbers_.try_emplace(value, static_cast<int64_t>(texts_.size()));
    if (is_new) texts_.push_back(value);
    return at->second;
  }

  void write_type() {
    const bool time = info_.unit == Unit::nanoseconds;
    protozero::pbf_writer type(out_, profile::kSampleType);
    type.add_int64(value_type::kType, text(time ? std::string_view(info_.type) : "samples"));
    type.add_int64(value_type::kUnit, text(time ? "nanoseconds" : "count"));
  }

  // A location and a function per name: the store has no addresses and no lines.
  uint64_t location_of(std::string_view name) {
    const auto id = static_cast<uint64_t>(text(name));
    if (written_.size() <= id) written_.resize(id + 1);
    if (written_[id]) return id;
    written_[id] = true;
    {
      protozero::pbf_writer written(out_, profile::kFunction);
      written.add_uint64(function::kId, id);
      written.add_int64(function::kName, static_cast<int64_t>(id));
      written.add_int64(function::kSystemName, static_cast<int64_t>(id));
    }
    protozero::pbf_writer place(out_, profile::kLocation);
    place.add_uint64(location::kId, id);
    protozero::pbf_writer written(place, location::kLine);
    written.add_uint64(line::kFunction, id);
    return id;
  }

  void write_sample(uint32_t leaf) {
    path_.clear();
    for (uint32_t node = leaf; node != 0 && tree_.node(node).depth > info_.group_depth; node = tree_.node(node).parent)
      path_.push_back(location_of(tree_.name(node)));
    const int64_t value[] = {std::llround(tree_.node(leaf).self[0])};
    uint32_t group = leaf;
    while (group != 0 && tree_.node(group).depth > info_.group_depth) group = tree_.node(group).parent;
    // All texts and locations are written, so the message of a sample may start now.
    const int64_t process = text("process"), process_name = text(tree_.name(group));
    const uint32_t above = tree_.node(group).parent;
    const int64_t host = above == 0 ? 0 : text("host"), host_name = above == 0 ? 0 : text(tree_.name(above));
    protozero::pbf_writer written(out_, profile::kSample);
    written.add_packed_uint64(sample::kLocations, path_.begin(), path_.end());
    written.add_packed_int64(sample::kValues, std::begin(value), std::end(value));
    if (group != 0) write_label(written, process, process_name);
    if (host != 0) write_label(written, host, host_name);
  }

  static void write_label(protozero::pbf_writer &parent, int64_t key, int64_t value) {
    protozero::pbf_writer written(parent, sample::kLabel);
    written.add_int64(label::kKey, key);
    written.add_int64(label::kText, value);
  }

  const Tree &tree_;
  const ProfileInfo &info_;
  std::string bytes_;
  protozero::pbf_writer out_{bytes_};
  std::unordered_map<std::string_view, int64_t> numbers_;
  std::vector<std::string_view> texts_;
  std::vector<bool> written_;  // by id of a location
  std::vector<uint64_t> path_;
};

}  // namespace

std::string pprof_of(const Tree &tree, const ProfileInfo &info) {
  return ProfileWriter(tree, info).write();
}

}  // namespace atalaya::flamegraph

// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/pprof/pprof.h"

#include <iterator>

#include "plugins/shared/io/compress/compressor.h"

namespace atalaya::protocols {
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

constexpr int kLevel = 6;  // zlib's default

}  // namespace

PprofWriter::PprofWriter(std::string_view type, std::string_view unit) {
  text("");  // the first text of every profile
  protozero::pbf_writer written(out_, profile::kSampleType);
  written.add_int64(value_type::kType, text(type));
  written.add_int64(value_type::kUnit, text(unit));
}

void PprofWriter::add(std::span<const std::string_view> frames, int64_t value, std::span<const PprofLabel> labels) {
  // Locations are members of the profile, so they are written before the message of the sample starts.
  path_.clear();
  for (const std::string_view frame : frames) path_.push_back(location_of(frame));
  labels_.clear();
  for (const PprofLabel &label : labels) {
    const int64_t key = text(label.key);
    labels_.emplace_back(key, text(label.value));
  }
  const int64_t values[] = {value};
  protozero::pbf_writer written(out_, profile::kSample);
  written.add_packed_uint64(sample::kLocations, path_.begin(), path_.end());
  written.add_packed_int64(sample::kValues, std::begin(values), std::end(values));
  for (const auto &[key, number] : labels_) {
    protozero::pbf_writer label(written, sample::kLabel);
    label.add_int64(label::kKey, key);
    label.add_int64(label::kText, number);
  }
}

void PprofWriter::set_time(int64_t start_ns, int64_t duration_ns) {
  out_.add_int64(profile::kTime, start_ns);
  out_.add_int64(profile::kDuration, duration_ns);
}

std::string PprofWriter::finish() {
  for (const std::string_view one : texts_) out_.add_string(profile::kStrings, one.data(), one.size());
  std::string out;
  const std::string_view pieces[] = {bytes_};
  io::make_compressor("gzip", kLevel)->compress(pieces, out);
  return out;
}

int64_t PprofWriter::text(std::string_view value) {
  const auto [at, is_new] = numbers_.try_emplace(value, static_cast<int64_t>(texts_.size()));
  if (is_new) texts_.push_back(value);
  return at->second;
}

// The text's number plus 1, because the number of the empty text is 0, which is no id.
uint64_t PprofWriter::location_of(std::string_view name) {
  const int64_t number = text(name);
  const auto id = static_cast<uint64_t>(number) + 1;
  if (written_.size() <= id) written_.resize(id + 1);
  if (written_[id]) return id;
  written_[id] = true;
  {
    protozero::pbf_writer written(out_, profile::kFunction);
    written.add_uint64(function::kId, id);
    written.add_int64(function::kName, number);
    written.add_int64(function::kSystemName, number);
  }
  protozero::pbf_writer place(out_, profile::kLocation);
  place.add_uint64(location::kId, id);
  protozero::pbf_writer written(place, location::kLine);
  written.add_uint64(line::kFunction, id);
  return id;
}

}  // namespace atalaya::protocols

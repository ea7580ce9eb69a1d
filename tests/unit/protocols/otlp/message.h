// SPDX-License-Identifier: Apache-2.0
// Requests of OTLP, written field by field with the numbers of opentelemetry-proto 1.5.
#pragma once

#include <functional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

#include "plugins/shared/protocols/otlp/otlp_reader.h"
#include "tests/unit/protocols/records.h"

namespace atalaya::protocols::testing {

using protozero::pbf_writer;
using Fill = std::function<void(pbf_writer &)>;

inline std::string message(const Fill &fill) {
  std::string out;
  pbf_writer writer(out);
  fill(writer);
  return out;
}
// A message KeyValue with a text.
inline std::string text_pair(std::string_view key, std::string_view value) {
  return message([&](pbf_writer &pair) {
    pair.add_string(1, key.data(), key.size());
    pair.add_message(2, message([&](pbf_writer &any) { any.add_string(1, value.data(), value.size()); }));
  });
}
// A request with one metric "m", whose data are in this field.
inline std::string request(uint32_t form, const std::string &data, const std::string &resource = "") {
  const std::string metric = message([&](pbf_writer &out) {
    out.add_string(1, "m");
    out.add_string(3, "s");
    out.add_message(form, data);
  });
  const std::string scope = message([&](pbf_writer &out) { out.add_message(2, metric); });
  return message([&](pbf_writer &out) {
    out.add_message(1, message([&](pbf_writer &inner) {
                      inner.add_message(1, resource);
                      inner.add_message(2, scope);
                    }));
  });
}

constexpr uint32_t kGaugeForm = 5, kSumForm = 7, kHistogramForm = 9, kExponentialForm = 10, kSummaryForm = 11;

struct OtlpResult {
  Records records;
  Account account;
  const Lines &lines() const { return records.lines; }
};
inline OtlpResult read_otlp(std::string_view body) {
  OtlpResult result;
  result.account = OtlpReader().read(body, {.details = true}, result.records);
  return result;
}
inline OtlpResult read_otlp_json(std::string body) {
  const size_t size = body.size();
  body.resize(size + 64);  // DocumentReader::kPadding
  OtlpResult result;
  result.account = OtlpReader().read_json(std::string_view(body).substr(0, size), {.details = true}, result.records);
  return result;
}

}  // namespace atalaya::protocols::testing

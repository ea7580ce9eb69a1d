// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/containers/workload.h"

namespace atalaya::containers {
namespace {

// The characters of generated suffixes: no vowels and no ambiguous characters. Source: Kubernetes, apimachinery/pkg/util/rand.
constexpr std::string_view kGenerated = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::string_view kDigits = "0123456789";

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

struct Split {
  std::string_view begin, last;  // for "a-b-c": "a-b" and "c"
};

Split split(std::string_view name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return {name, {}};
  return {name.substr(0, dash), name.substr(dash + 1)};
}

// Whether the text is the hash of a ReplicaSet's template: the decimal digits of a 32-bit number, each mapped to a character of the
// set. Short hashes are rare.
bool is_template_hash(std::string_view part) {
  return part.size() >= 8 && part.size() <= 10 && consists_of(part, kGenerated);
}

// Whether the text is the time of a CronJob's run: minutes since 1970, or seconds before Kubernetes 1.21.
bool is_time_of_run(std::string_view part) {
  return (part.size() == 8 || part.size() == 10) && consists_of(part, kDigits);
}

bool is_ordinal(std::string_view part) {
  return part.size() <= 5 && consists_of(part, kDigits) && (part.size() == 1 || part[0] != '0');
}

}  // namespace

std::string_view workload_of(std::string_view pod) {
  constexpr size_t kSuffix = 5;
  const auto [owner, suffix] = split(pod);
  // The suffix may also be an ordinal of five digits without 0, 1 and 3; the result is the same, because both follow the name of
  // the workload.
  if (suffix.size() == kSuffix && consists_of(suffix, kGenerated)) {
    const auto [above, part] = split(owner);
    return is_template_hash(part) || is_time_of_run(part) ? above : owner;
  }
  return is_ordinal(suffix) ? owner : std::string_view();
}

}  // namespace atalaya::containers

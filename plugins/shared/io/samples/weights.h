// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>

#include "plugins/shared/io/samples/per_name.h"
#include "plugins/shared/io/samples/totals.h"

namespace atalaya::io {

// The weight of each metric, from its declared kind. An undeclared metric is regarded as a gauge.
class Weights {
 public:
  explicit Weights(Host host) : host_(host) {}

  Weight weight_of(uint32_t name) {
    return weights_.get(name, [&] {
      const auto info = host_.metric(name);
      const bool is_amount = info && (info->kind == ATALAYA_DELTA || info->kind == ATALAYA_TOTAL);
      return is_amount ? Weight::whole : Weight::by_time;
    });
  }

 private:
  Host host_;
  PerName<Weight> weights_;
};

}  // namespace atalaya::io

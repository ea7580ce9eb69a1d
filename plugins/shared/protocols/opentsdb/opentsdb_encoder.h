// SPDX-License-Identifier: Apache-2.0
// Points in the form of OpenTSDB's /api/put: elements of a JSON array. Source: opentsdb.net/docs/build/html/api_http/put.html.
//   {"metric":"proc.cpu.user","timestamp":1795219532000,"value":99.4,"tags":{"host":"vm","pid":"8860","process":"java"}}
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/encode/line_encoder.h"

namespace atalaya::protocols {

// OpenTSDB limits the tags of a point: tags in `droppable` are removed in order, and a sample that still has too many is refused.
struct TagLimit {
  size_t max_tags = 8;
  std::vector<std::string> droppable;
};

std::unique_ptr<core::Encoder> make_opentsdb(const core::NameOf &name_of, const TagLimit &limit);

}  // namespace atalaya::protocols

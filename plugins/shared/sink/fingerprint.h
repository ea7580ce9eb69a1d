// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <span>

namespace atalaya::sinks {

// Of a series: kind, tags and text, whatever the order of the tags.
uint64_t series_hash(const atalaya_sample &sample);

// Of all that a batch holds: tells whether the batch that comes after a retry is the one that was being delivered.
uint64_t fingerprint(std::span<const atalaya_sample> samples);

}  // namespace atalaya::sinks

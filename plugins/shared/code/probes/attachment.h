// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace atalaya::probes {

// Probes of one region in one file; the destructor detaches them.
class Attachment {
 public:
  virtual ~Attachment() = default;
};

}  // namespace atalaya::probes

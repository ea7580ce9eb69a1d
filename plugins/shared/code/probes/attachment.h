// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace atalaya::probes {

// The attached probes of one region in one file. The destructor detaches them.
class Attachment {
 public:
  virtual ~Attachment() = default;
};

}  // namespace atalaya::probes

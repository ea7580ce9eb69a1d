// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace atalaya::io {

// Builds a request body from pieces. Allocates nothing in steady state when reused.
class Compressor {
 public:
  virtual ~Compressor() = default;
  virtual std::string_view encoding() const = 0;  // value of the Content-Encoding header; empty for none
  virtual void compress(std::span<const std::string_view> pieces, std::string &out) = 0;
};

// "gzip", "zstd", "snappy" or "none". The level is limited to those of the method.
std::unique_ptr<Compressor> make_compressor(std::string_view method, int level);

}  // namespace atalaya::io

// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pipeline file: it is read or refused, within the limits.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/files.h"
#include "core/config/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::string head = "local a = require \"atalaya\" ";
  const atalaya::core::Descriptor file(::memfd_create("pipeline", MFD_CLOEXEC));
  const std::string text = head + std::string(reinterpret_cast<const char *>(data), size);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  atalaya::core::Registry registry;
  atalaya::core::Symbols symbols;
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const auto loaded = atalaya::core::load_files({path}, registry, symbols, LUA_FOLDER);
  if (loaded.errors.empty() != loaded.description.has_value()) std::abort();
  return 0;
}

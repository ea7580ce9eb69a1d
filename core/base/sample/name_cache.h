// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::core {

// Returns the name of an id, valid until the process ends; empty for an unknown id. In the engine it is Symbols::name, in a plugin
// Host::name_of; the encoders work in both.
using NameOf = std::function<std::string_view(uint32_t)>;

// Names in the syntax of an output format, with quotes, escapes and fixed text around them. Each name is rendered once.
class NameCache {
 public:
  using Render = std::function<void(std::string_view name, std::string &out)>;
  NameCache(NameOf name_of, Render render) : name_of_(std::move(name_of)), render_(std::move(render)) {}

  struct Name {
    std::string_view raw;
    std::string text;  // rendered
  };
  // Null for an unknown id. The pointer is valid until the next call.
  const Name *find(uint32_t id) {
    if (id < names_.size() && !names_[id].raw.empty()) return &names_[id];
    return render(id);
  }

 private:
  const Name *render(uint32_t id) {
    const std::string_view raw = name_of_(id);
    if (raw.empty()) return nullptr;
    if (id >= names_.size()) names_.resize(id + size_t{1});
    names_[id].raw = raw;
    render_(raw, names_[id].text);
    return &names_[id];
  }

  NameOf name_of_;
  Render render_;
  std::vector<Name> names_;  // rendered names by id
};

}  // namespace atalaya::core

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "core/isolation/launcher/launcher.h"
#include "core/ledger/ledger.h"

namespace atalaya::core {

// The engine's services, which all its pipelines share.
struct PipelineServices {
  Symbols &symbols;
  Ledger &ledger;
  std::shared_ptr<BatchPool> pool;
  std::string host;  // value of the tag `host` for samples without that tag
  uint32_t host_key = 0;
  std::function<void()> wake_engine;
  Launcher *launcher = nullptr;
};

}  // namespace atalaya::core

// SPDX-License-Identifier: Apache-2.0
// Reads and checks the parameters.
#pragma once

#include <atalaya/plugin.hpp>

#include "plugins/sources/hadoop/files/webhdfs.h"
#include "plugins/sources/hadoop/model/history.h"

namespace atalaya::hadoop {

// Both throw Failure (bad_config) for an invalid value.
Rules rules_of(const Host &host);
WebHdfsOptions webhdfs_of(const Host &host);

}  // namespace atalaya::hadoop

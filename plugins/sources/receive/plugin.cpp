// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/receive_source.h"

ATALAYA_PLUGIN("receive", "0.1.0", "source receive", atalaya::receive::ReceiveSource)

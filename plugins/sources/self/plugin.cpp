// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/self/self_source.h"

ATALAYA_PLUGIN("self", "0.1.0", "source self", atalaya::self::SelfSource)

// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/top/top_filter.h"

ATALAYA_PLUGIN("top", "0.1.0", "filter top", atalaya::top::TopFilter)

// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/value/value_filter.h"

ATALAYA_PLUGIN("value", "0.1.0", "filter value", atalaya::value::ValueFilter)

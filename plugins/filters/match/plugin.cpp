// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/match/match_filter.h"

ATALAYA_PLUGIN("match", "0.1.0", "filter match", atalaya::match::MatchFilter)

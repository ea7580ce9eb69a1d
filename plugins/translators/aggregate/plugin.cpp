// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/aggregate/aggregate.h"

ATALAYA_PLUGIN("aggregate", "0.1.0", "translator aggregate", atalaya::aggregate::Aggregate)

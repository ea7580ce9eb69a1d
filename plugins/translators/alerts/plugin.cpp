// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/alerts.h"

ATALAYA_PLUGIN("alerts", "0.1.0", "translator alerts", atalaya::alerts::Alerts)

// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/energy/energy.h"

ATALAYA_PLUGIN("energy", "0.1.0", "translator energy", atalaya::energy::EnergyTranslator)

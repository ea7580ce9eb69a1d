// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/phases/phases.h"

ATALAYA_PLUGIN("phases", "0.1.0", "translator phases", atalaya::phases::PhasesTranslator)

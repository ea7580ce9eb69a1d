// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/tags/tags.h"

ATALAYA_PLUGIN("tags", "0.1.0", "translator tags", atalaya::tags::Tags)

// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/names.h"

ATALAYA_PLUGIN("names", "0.1.0", "translator names", atalaya::names::Names)

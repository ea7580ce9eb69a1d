// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/btrace/btrace_source.h"

ATALAYA_PLUGIN("btrace", "0.1.0", "source btrace", atalaya::btrace::BtraceSource)

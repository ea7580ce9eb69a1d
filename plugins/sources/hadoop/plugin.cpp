// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/hadoop_source.h"

ATALAYA_PLUGIN("hadoop", "0.1.0", "source hadoop", atalaya::hadoop::HadoopSource)

// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/record_command.h"
#include "plugins/filters/recorder/recorder_filter.h"
#include "plugins/filters/recorder/trigger_sink.h"

ATALAYA_PLUGIN("recorder", "0.1.0", "filter recorder\nsink recorder\ncommand record", atalaya::recorder::RecorderFilter,
               atalaya::recorder::TriggerSink, atalaya::recorder::RecordCommand)

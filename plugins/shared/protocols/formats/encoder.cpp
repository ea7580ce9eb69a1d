// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/formats/encoder.h"

#include "plugins/shared/protocols/influx/influx_encoder.h"

namespace atalaya::protocols {

std::unique_ptr<core::Encoder> make_encoder(Format format, const core::NameOf &name_of, const TagLimit &limit) {
  switch (format) {
    case Format::samples:
      return core::encoders::make_samples(name_of);
    case Format::bdwatchdog:
      return core::encoders::make_bdwatchdog(name_of);
    case Format::csv:
      return make_csv(name_of, false);
    case Format::csv_for_spreadsheets:
      return make_csv(name_of, true);
    case Format::line:
      return make_line(name_of);
    case Format::opentsdb:
      return make_opentsdb(name_of, limit);
    case Format::influx:
      return make_influx(name_of);
    case Format::stacks:
      return core::encoders::make_stacks(name_of);
    case Format::jsonlines:
      break;
  }
  return core::encoders::make_points(name_of);
}

Format format_from_name(std::string_view name) {
  if (name == "samples") return Format::samples;
  if (name == "bdwatchdog") return Format::bdwatchdog;
  if (name == "csv") return Format::csv;
  if (name == "line") return Format::line;
  if (name == "opentsdb") return Format::opentsdb;
  if (name == "influx") return Format::influx;
  if (name == "stacks") return Format::stacks;
  return Format::jsonlines;
}

}  // namespace atalaya::protocols

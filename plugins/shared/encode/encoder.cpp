// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/encode/encoder.h"

namespace atalaya::core {

std::unique_ptr<Encoder> make_encoder(Format format, const NameOf &name_of, const TagLimit &limit) {
  switch (format) {
    case Format::samples:
      return encoders::make_samples(name_of);
    case Format::bdwatchdog:
      return encoders::make_bdwatchdog(name_of);
    case Format::csv:
      return encoders::make_csv(name_of, false);
    case Format::csv_for_spreadsheets:
      return encoders::make_csv(name_of, true);
    case Format::line:
      return encoders::make_line(name_of);
    case Format::opentsdb:
      return encoders::make_opentsdb(name_of, limit);
    case Format::influx:
      return encoders::make_influx(name_of);
    case Format::stacks:
      return encoders::make_stacks(name_of);
    case Format::jsonlines:
      break;
  }
  return encoders::make_points(name_of);
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

}  // namespace atalaya::core

// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/prometheus/exposition.h"

#include <cmath>

#include "core/base/text/json.h"
#include "plugins/shared/protocols/prometheus/legal_text.h"

namespace atalaya::prometheus {
namespace {

void append_value(std::string &out, const atalaya_field &field) {
  if (field.type == ATALAYA_I64) {
    core::append_integer(out, field.value.i64);
  } else if (std::isnan(field.value.f64)) {
    out += "NaN";
  } else if (std::isinf(field.value.f64)) {
    out += field.value.f64 > 0 ? "+Inf" : "-Inf";
  } else {
    core::append_number(out, field.value.f64);
  }
}

// In milliseconds; in OpenMetrics in seconds with three decimals.
void append_time(std::string &out, int64_t time_ns, Form form) {
  const int64_t ms = time_ns / 1'000'000;
  out += ' ';
  if (form == Form::text) return core::append_integer(out, ms);
  core::append_integer(out, ms / 1000);
  out += '.';
  out += static_cast<char>('0' + ms / 100 % 10);
  out += static_cast<char>('0' + ms / 10 % 10);
  out += static_cast<char>('0' + ms % 10);
}

std::string_view type_text(Type type, Form form) {
  switch (type) {
    case Type::gauge:
      return "gauge";
    case Type::counter:
      return "counter";
    case Type::unknown:
      break;
  }
  return form == Form::text ? "untyped" : "unknown";
}

}  // namespace

// Samples of both forms have the same names; in the text form the family of a counter has _total, too. Only OpenMetrics has units.
void append_head(const Metric &metric, Form form, std::string &out) {
  const bool total = metric.type == Type::counter && form == Form::text;
  const auto line = [&](std::string_view word) {
    out.append("# ").append(word).append(" ").append(metric.family).append(total ? "_total " : " ");
  };
  line("HELP");
  if (form == Form::text) {
    append_help(out, metric.help);
  } else {
    append_escaped(out, metric.help);
  }
  out += '\n';
  line("TYPE");
  out.append(type_text(metric.type, form)).append("\n");
  if (form == Form::text || metric.unit.empty()) return;
  line("UNIT");
  out.append(metric.unit).append("\n");
}

const char *content_type(Form form) {
  return form == Form::text ? "text/plain; version=0.0.4; charset=utf-8"
                            : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

void append_label(std::string &labels, std::string_view name, std::string_view value) {
  if (!labels.empty()) labels += ',';
  labels += name;
  labels += "=\"";
  append_escaped(labels, value);
  labels += '"';
}

void append_series(const Metric &metric, std::string_view labels, const atalaya_field &value, std::optional<int64_t> time_ns,
                   Form form, std::string &out) {
  out += metric.family;
  if (metric.type == Type::counter) out += "_total";
  if (!labels.empty()) {
    out += '{';
    out += labels;
    out += '}';
  }
  out += ' ';
  append_value(out, value);
  if (time_ns) append_time(out, *time_ns, form);
  out += '\n';
}

void append_end(Form form, std::string &out) {
  if (form == Form::openmetrics) out += "# EOF\n";
}

}  // namespace atalaya::prometheus

// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/http/form.h"

#include "plugins/shared/protocols/alertmanager/alert_encoder.h"
#include "plugins/shared/protocols/otlp/otlp.h"
#include "plugins/shared/protocols/otlp/otlp_profiles.h"
#include "plugins/shared/protocols/prometheus/remote_write.h"
#include "plugins/shared/protocols/pyroscope/pyroscope.h"

namespace atalaya::http_sink {

Form form_of(std::string_view name) {
  if (name == "flat")
    return {.format = protocols::Format::samples,
            .content_type = "application/vnd.atalaya.flat",
            .default_path = "/api/flat",
            .sample_format = SampleFormat::flat};
  if (name == "influx") return {protocols::Format::influx, "text/plain; charset=utf-8", "/write", false, false};
  if (name == "jsonlines") return {protocols::Format::jsonlines, "application/x-ndjson", "/api/jsonlines", false, false};
  if (name == "remote_write")
    return {.format = protocols::Format::samples,
            .content_type = "application/x-protobuf",
            .default_path = "/api/v1/write",
            .message = Message::remote_write,
            .header = "X-Prometheus-Remote-Write-Version",
            .header_value = "0.1.0",
            .compress = "snappy"};
  if (name == "otlp_metrics")
    return {.format = protocols::Format::samples,
            .content_type = "application/x-protobuf",
            .default_path = "/v1/metrics",
            .message = Message::otlp_metrics};
  if (name == "otlp_traces")
    return {.format = protocols::Format::samples,
            .content_type = "application/x-protobuf",
            .default_path = "/v1/traces",
            .message = Message::otlp_traces};
  if (name == "otlp_profiles")
    return {.format = protocols::Format::samples,
            .content_type = "application/x-protobuf",
            .default_path = "/v1development/profiles",
            .sample_format = SampleFormat::otlp_profiles};
  if (name == "pyroscope")
    return {.format = protocols::Format::samples,
            .content_type = "text/plain; charset=utf-8",
            .default_path = "/ingest",
            .sample_format = SampleFormat::pyroscope,
            .compress = "none"};  // Pyroscope does not read compressed folded stacks
  if (name == "alertmanager")
    return {.format = protocols::Format::jsonlines,
            .content_type = "application/json",
            .default_path = "/api/v2/alerts",
            .array = true,
            .alert = Alert::alertmanager,
            .compress = "none"};  // the Alertmanager does not read compressed bodies
  if (name == "webhook")
    return {.format = protocols::Format::jsonlines,
            .content_type = "application/x-ndjson",
            .default_path = "/",
            .alert = Alert::webhook,
            .compress = "none"};
  if (name == "stacks") return {protocols::Format::stacks, "application/json", "/api/stacks", true, false};
  return {protocols::Format::opentsdb, "application/json", "/api/put", true, true};
}

std::unique_ptr<core::Encoder> make_lines(const Form &form, const protocols::TagLimit &tags, const core::NameOf &name_of) {
  switch (form.alert) {
    case Alert::alertmanager:
      return protocols::make_alertmanager(name_of);
    case Alert::webhook:
      return protocols::make_webhook(name_of);
    case Alert::none:
      break;
  }
  return protocols::make_encoder(form.format, name_of, tags);
}

std::unique_ptr<protocols::MessageEncoder> make_messages(const Form &form, const core::NameOf &name_of,
                                                         const protocols::MetricOf &metric_of,
                                                         const std::shared_ptr<prometheus::ExposedNames> &exposed_names) {
  switch (form.message) {
    case Message::remote_write:
      return protocols::make_remote_write(name_of, metric_of, {.names = exposed_names});
    case Message::otlp_metrics:
      return protocols::make_otlp_metrics(name_of, metric_of);
    case Message::otlp_traces:
      return protocols::make_otlp_traces(name_of);
    case Message::none:
      break;
  }
  return nullptr;
}

std::unique_ptr<protocols::SampleEncoder> make_sample_encoder(const Form &form, int64_t sample_rate, const core::NameOf &name_of,
                                                              const protocols::MetricOf &metric_of) {
  switch (form.sample_format) {
    case SampleFormat::flat:
      return protocols::make_flat(name_of, metric_of);
    case SampleFormat::pyroscope:
      return protocols::make_pyroscope(name_of, sample_rate);
    case SampleFormat::otlp_profiles:
      return protocols::make_otlp_profiles(name_of);
    case SampleFormat::none:
      break;
  }
  return nullptr;
}

}  // namespace atalaya::http_sink

// SPDX-License-Identifier: Apache-2.0
// The sink "clickhouse": a batch becomes rows of a ClickHouse database.
#include <atalaya/plugin.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "plugins/shared/encode/encoder.h"
#include "plugins/shared/secret/secret.h"
#include "plugins/shared/sink/dead_letters.h"
#include "plugins/shared/sink/params.h"
#include "plugins/shared/store/clickhouse/writer.h"

namespace atalaya::clickhouse_sink {
namespace {

using namespace atalaya::literals;
namespace clickhouse = store::clickhouse;

class ClickHouse final : public Sink {
 public:
  static constexpr Param params[] = {
      {.name = "url"_str,
       .type = ATALAYA_STRING,
       .default_text = "http://127.0.0.1:8123/atalaya"_str,
       .summary = "http://host:port/database of the server's HTTP interface, or with https; the database has to be there."_str},
      {.name = "cluster"_str,
       .type = ATALAYA_STRING,
       .summary =
           "The name of a cluster of the server's configuration: tables are made on all of it, replicated and spread over its "
           "shards; absent: tables of this server."_str},
      {.name = "compress"_str,
       .type = ATALAYA_ENUM,
       .default_text = "gzip"_str,
       .allowed = "gzip|none"_str,
       .summary = "How rows are compressed on their way."_str},
      {.name = "batch_rows"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "100000"_str,
       .unit = "rows"_str,
       .summary = "The most that one request holds; a batch that has more becomes several."_str,
       .min = 1,
       .max = 1'000'000},
      {.name = "batch_size"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "16 MiB"_str,
       .summary = "The most that one request holds before it is compressed."_str,
       .min = 1024,
       .max = 1 << 30},
      sinks::span_of_time("timeout"_str, "10s"_str, "How long a connection may take, and how long the server may be silent."_str),
      sinks::deadline("30s"_str),
      sinks::dead_letters(
          "Room for the rows that the server refuses, in dead-letters.jsonl of the sink's state folder; the oldest half goes "
          "first. 0 B keeps none."_str),
      {.name = "basic"_str, .type = ATALAYA_STRING, .summary = "A file that holds user:password; read anew for every request."_str},
      sinks::kHttpTls,
  };
  static constexpr Description description = {
      .name = "clickhouse"_str,
      .summary = "Keeps samples in a ClickHouse database, on one server or a cluster, and loses none."_str,
      .params = params};

  explicit ClickHouse(Host host) : host_(host), dead_letters_(host, host.integer("dead_letters")) {
    answer([&] { options_.client.location = clickhouse::parse_location(host_.text("url")); });
    auto &location = options_.client.location;
    if (const auto path = host_.find("basic")) location.basic = path->text();
    if (const auto ca = host_.find("tls.ca")) location.tls.ca = ca->text();
    if (const auto certificate = host_.find("tls.certificate")) location.tls.certificate = certificate->text();
    if (const auto key = host_.find("tls.key")) location.tls.key = key->text();
    if (const auto cluster = host_.find("cluster")) options_.cluster = cluster->text();
    options_.client.timeout = std::chrono::nanoseconds(host_.integer("timeout"));
    options_.client.deadline = std::chrono::nanoseconds(host_.integer("deadline"));
    options_.client.compress = host_.text("compress");
    options_.batch_rows = static_cast<size_t>(host_.integer("batch_rows"));
    options_.batch_bytes = static_cast<size_t>(host_.integer("batch_size"));
  }

  void start() override {
    if (writer_) return;
    if (const auto folder = host_.state_dir()) options_.version_file = *folder + "/version";
    if (!options_.client.location.basic.empty()) static_cast<void>(read_secret(options_.client.location.basic));
    const core::NameOf name_of = [host = host_](uint32_t id) { return host.name_of(id); };
    options_.warn = [host = host_](const std::string &text) { host.log(Level::warning, text); };
    answer([&] {
      writer_ = std::make_unique<clickhouse::Writer>(options_, name_of, [host = host_](uint32_t id) { return host.metric(id); });
    });
    encoder_ = core::make_encoder(core::Format::samples, name_of);
    dead_letters_.open();
  }
  void stop() override {
    writer_.reset();
    dead_letters_.close();
  }

  Code write(std::span<const Sample> samples, int64_t & /*retry_after_ns*/) override {
    if (!writer_) throw Failure(Code::retry, "the sink \"clickhouse\" is not started");
    store::Refused refused;
    try {
      refused = writer_->write(samples, host_.realtime());
    } catch (const std::exception &problem) {
      // Whatever it is - the server, the way to it, what the operator wrote or forgot -, it can be repaired while the batch waits.
      throw Failure(Code::retry, problem.what());
    }
    host_.dropped("no value that can be stored", refused.samples);
    if (refused.values > 0)
      host_.log(Level::warning, "values that are not finite, or have no name, were left out of the store " + writer_->name());
    bury(samples);
    return Code::ok;
  }
  // Nothing is held back: every batch is with the server when write returns.
  Code flush(int64_t /*deadline_ns*/) override { return Code::ok; }

 private:
  template <class Action>
  static void answer(Action &&action) {
    try {
      action();
    } catch (const store::Error &error) {
      throw Failure(Code::bad_config, error.what());
    }
  }

  void bury(std::span<const Sample> samples) {
    std::string record;
    for (const clickhouse::RefusedRow &row : writer_->refused_rows()) {
      Sample sample = samples[row.sample];
      if (row.field != clickhouse::kAllFields) {
        sample.fields += row.field;
        sample.field_count = 1;
      }
      record.clear();
      encoder_->append(sample, record);
      if (!record.empty()) record.pop_back();
      dead_letters_.add({row.sample, writer_->name(), row.refusal.code, row.refusal.words, record});
    }
    dead_letters_.settle("rows");
  }

  Host host_;
  clickhouse::WriterOptions options_;
  sinks::DeadLetters dead_letters_;
  std::unique_ptr<clickhouse::Writer> writer_;
  std::unique_ptr<core::Encoder> encoder_;
};

}  // namespace
}  // namespace atalaya::clickhouse_sink

ATALAYA_PLUGIN("clickhouse", "0.1.0", "sink clickhouse", atalaya::clickhouse_sink::ClickHouse)

// SPDX-License-Identifier: Apache-2.0
// The sink "clickhouse": a batch becomes rows of a ClickHouse database.
#include <atalaya/plugin.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "plugins/shared/io/secret/secret.h"
#include "plugins/shared/io/sink/dead_letters.h"
#include "plugins/shared/io/sink/params.h"
#include "plugins/shared/protocols/formats/encoder.h"
#include "plugins/shared/store/clickhouse/writer.h"

namespace atalaya::clickhouse_sink {
namespace {

using namespace atalaya::literals;
namespace clickhouse = store::clickhouse;

constexpr Param kUrl[] = {param::string("url", "http://HOST:PORT/DATABASE, or https; only the last of a list needs the database")};

class ClickHouse final : public Sink {
 public:
  static constexpr Param params[] = {
      param::list("url", kUrl,
                  "HTTP interface of a server with its database, which must exist, or of several with the same data: the first "
                  "that works is used")
          .defaults("http://127.0.0.1:8123/atalaya"),
      param::string(
          "cluster",
          "Name of a cluster of the server's configuration: its tables are replicated and spread over its shards (default: "
          "tables of one server)"),
      param::choice("compress", "gzip|none", "Compression of requests").defaults("gzip"),
      param::integer("batch_rows", "Maximum rows per request; larger batches become several requests")
          .defaults("100000")
          .range(1, 1'000'000)
          .unit("rows"),
      param::size("batch_size", "Maximum size of a request before compression").defaults("16 MiB").range(1024, 1 << 30),
      io::duration_param("timeout"_str, "10s"_str, "Maximum time of a connection attempt, and maximum silence of the server"_str),
      io::deadline("30s"_str),
      io::dead_letters("Maximum size of dead-letters.jsonl in the state folder, with the rows that the server refuses; the "
                       "oldest half is deleted "
                       "first. 0 B: none"_str),
      param::string("basic", "A file with user:password; read again for every request").unit("secret file"),
      io::kHttpTls,
  };
  static constexpr Description description = {
      .name = "clickhouse"_str, .summary = "Keep samples in a ClickHouse database, on a server or a cluster"_str, .params = params};

  explicit ClickHouse(Host host) : host_(host), dead_letters_(host, host.integer("dead_letters")) {
    answer([&] { options_.client.location = clickhouse::parse_location(host_.texts("url")); });
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
    if (!options_.client.location.basic.empty()) static_cast<void>(io::read_secret(options_.client.location.basic));
    const core::NameOf name_of = [host = host_](uint32_t id) { return host.name_of(id); };
    options_.warn = [host = host_](const std::string &text) { host.log(Level::warning, text); };
    answer([&] {
      writer_ = std::make_unique<clickhouse::Writer>(options_, name_of, [host = host_](uint32_t id) { return host.metric(id); });
    });
    encoder_ = protocols::make_encoder(protocols::Format::samples, name_of);
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
      // Temporary, whatever the cause: the server, the network and the configuration can be fixed while the batch waits.
      throw Failure(Code::retry, problem.what());
    }
    host_.dropped("no value that can be stored", refused.samples);
    if (refused.values > 0)
      host_.log(Level::warning, "values that are not finite, or have no name, were left out of the store " + writer_->name());
    put_dead_letters(samples);
    return Code::ok;
  }
  // Nothing is buffered: the server has every batch when write returns.
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

  void put_dead_letters(std::span<const Sample> samples) {
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
      dead_letters_.add({row.sample, writer_->name(), row.refusal.code, row.refusal.server_message, record});
    }
    dead_letters_.settle("rows");
  }

  Host host_;
  clickhouse::WriterOptions options_;
  io::DeadLetters dead_letters_;
  std::unique_ptr<clickhouse::Writer> writer_;
  std::unique_ptr<core::Encoder> encoder_;
};

}  // namespace
}  // namespace atalaya::clickhouse_sink

ATALAYA_PLUGIN("clickhouse", "0.1.0", "sink clickhouse", atalaya::clickhouse_sink::ClickHouse)

// SPDX-License-Identifier: Apache-2.0
#include <atalaya/plugin.hpp>

#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "plugins/shared/encode/encoder.h"
#include "plugins/shared/encode/table.h"
#include "core/base/files.h"
#include "plugins/sinks/stdout/output.h"

namespace atalaya::stdout_sink {
namespace {

class Stdout final : public Sink {
 public:
  static constexpr Param params[] = {
      {.name = "format"_str,
       .type = ATALAYA_ENUM,
       .default_text = "table"_str,
       .allowed = "table|jsonlines|samples|csv"_str,
       .summary = "table: for people; jsonlines: a point a line; samples: a sample a line, nothing lost; csv."_str},
      {.name = "max_rows"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "0"_str,
       .unit = "rows"_str,
       .summary = "Rows of each table; 0: all."_str,
       .min = 0,
       .max = 1e9},
      {.name = "sort"_str,
       .type = ATALAYA_STRING,
       .default_text = ""_str,
       .summary = "The field that rows of a table are sorted by, largest first, such as proc.cpu.user."_str},
  };
  static constexpr Description description = {
      .name = "stdout"_str, .summary = "Prints samples on standard output, as tables or lines."_str, .params = params};

  explicit Stdout(Host host) : host_(host), name_of_([host](uint32_t id) { return host.name_of(id); }) {
    const std::string format = host.text("format");
    if (format != "table") encoder_ = core::make_encoder(core::format_from_name(format), name_of_);
    if (encoder_ != nullptr) header_ = encoder_->header();
    options_.max_rows = static_cast<uint64_t>(host.integer("max_rows"));
    if (const auto sort = host.find("sort")) options_.sort = sort->text();
  }

  Code write(std::span<const Sample> samples, int64_t &) override {
    text_ = header_;
    header_.clear();
    refused_.clear();
    if (encoder_ != nullptr) {
      core::append_all(*encoder_, samples, text_, refused_);
    } else {
      options_.width = terminal_width(STDOUT_FILENO);
      core::append_tables(samples, name_of_, options_, text_);
    }
    // What was printed cannot be taken back, so that a second try would print it twice.
    if (const int error = write_all(STDOUT_FILENO, text_); error != 0)
      throw Failure(Code::permanent, "standard output: " + core::error_text(error));
    for (const auto &[reason, count] : refused_) host_.dropped(reason, count);
    return Code::ok;
  }

  Code flush(int64_t) override { return Code::ok; }

 private:
  Host host_;
  core::NameOf name_of_;
  std::unique_ptr<core::Encoder> encoder_;  // null: tables
  core::TableOptions options_;
  std::string header_;  // until it has been printed
  std::string text_;
  core::Refused refused_;  // of the batch at hand
};

}  // namespace
}  // namespace atalaya::stdout_sink

ATALAYA_PLUGIN("stdout", "0.1.0", "sink stdout", atalaya::stdout_sink::Stdout)

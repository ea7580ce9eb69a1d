// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/declarations.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/store/clickhouse/wire/row_binary.h"
#include "plugins/shared/store/identity.h"

namespace atalaya::store::clickhouse {
namespace {

constexpr int64_t kCheckEvery = 60'000'000'000;

}  // namespace

Catalogue read_catalogue(Client &client) {
  Catalogue catalogue;
  client.select({{{"metric", "name", Type::text},
                  {"kind", "kind_text", Type::text},
                  {"unit", "unit_text", Type::text},
                  {"toInt64(decimals)", "digits", Type::i64},
                  {"summary", "summary_text", Type::text}},
                 "metrics FINAL",
                 "name"},
                [&](const std::vector<Cell> &row) {
                  MetricInfo info{kind_of(row[2].text), static_cast<int32_t>(row[4].integer()), std::string(row[3].text),
                                  std::string(row[5].text)};
                  catalogue[std::string(row[1].text)] = std::make_shared<const MetricInfo>(std::move(info));
                  return true;
                });
  return catalogue;
}

Declarations::Declarations(core::NameOf name_of, MetricOf metric_of, Warn warn)
    : name_of_(std::move(name_of)), metric_of_(std::move(metric_of)), warn_(std::move(warn)) {}

void Declarations::load(Client &client) {
  if (!metric_of_) return;
  known_ = read_catalogue(client);
  seen_.clear();
  undeclared_.clear();
}

std::string Declarations::rows_for(std::span<const atalaya_sample> samples, int64_t now_ns) {
  std::string rows;
  if (!metric_of_) return rows;
  if (const int64_t since_ns = now_ns - checked_ns_; !undeclared_.empty() && (since_ns < 0 || since_ns >= kCheckEvery)) {
    checked_ns_ = now_ns;
    std::erase_if(undeclared_, [&](uint32_t name) { return add(name, now_ns, rows); });
  }
  for (const atalaya_sample &sample : samples) {
    for (const atalaya_field &field : std::span(sample.fields, sample.field_count)) {
      if (field.name >= seen_.size()) seen_.resize(field.name + size_t{1});
      if (seen_[field.name]) continue;
      seen_[field.name] = true;
      if (!add(field.name, now_ns, rows)) undeclared_.push_back(field.name);
    }
  }
  return rows;
}

bool Declarations::add(uint32_t name, int64_t now_ns, std::string &rows) {
  std::string scratch;
  const std::string text(valid_utf8(name_of_(name), scratch));
  if (text.empty()) return true;
  const auto declared = metric_of_(name);
  if (!declared) return false;
  MetricInfo info = stored_form(*declared);
  if (const auto first = known_.find(text); first != known_.end()) {
    if (is_conflict(*first->second, info) && conflicts_.insert(text).second && warn_)
      warn_(conflict_text(text, *first->second, info));
    return true;
  }
  append_text(rows, text);
  append_text(rows, text_of(info.kind));
  append_text(rows, info.unit);
  append_number(rows, info.decimals);
  append_text(rows, info.summary);
  append_number(rows, ~static_cast<uint64_t>(std::max<int64_t>(now_ns, 0)));  // of two agents the first one wins
  known_[text] = std::make_shared<const MetricInfo>(std::move(info));
  return true;
}

}  // namespace atalaya::store::clickhouse

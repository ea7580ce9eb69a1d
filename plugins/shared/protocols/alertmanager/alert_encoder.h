// SPDX-License-Identifier: Apache-2.0
// Alerts as JSON: for Prometheus's Alertmanager (API v2), and for a webhook.
#pragma once

#include <memory>

#include "core/base/encode/line_encoder.h"

namespace atalaya::protocols {

// Elements of the array of POST /api/v2/alerts. A firing alert has no end time; the Alertmanager ends it if it is not sent again.
// Source: api/v2/openapi.yaml of Alertmanager 0.27, postableAlert.
//   {"labels":{"alertname":"disk full","severity":"critical","host":"h"},
//    "annotations":{"summary":"..","description":"..","value":"91.2"},"startsAt":"2026-11-21T00:05:32.123Z","endsAt":".."}
// The tags of a span "alert" are labels, with the characters of Prometheus; empty ones are left out, and of two tags with one
// label the first counts. Other samples are refused.
std::unique_ptr<core::Encoder> make_alertmanager(const core::NameOf &name_of);
// One line per alert. The fields alert.value and alert.limit are numbers, all other tags are `tags`:
//   {"alert":"disk full","state":"firing","severity":"critical","start":1795219532000,"end":..,"value":91.2,"limit":90,
//    "tags":{"host":"h"},"summary":"..","advice":".."}
std::unique_ptr<core::Encoder> make_webhook(const core::NameOf &name_of);

}  // namespace atalaya::protocols

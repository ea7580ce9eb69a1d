// SPDX-License-Identifier: Apache-2.0
// Alerts as JSON: for Prometheus's Alertmanager (API v2), and for a webhook.
#pragma once

#include <memory>

#include "core/base/encode/line_encoder.h"

namespace atalaya::protocols {

// Elements of the array of POST /api/v2/alerts. A firing alert has no end time; the Alertmanager ends it if it is not sent again.
//   {"labels":{"alertname":"disk
//   full","severity":"critical","host":"h"},"annotations":{"summary":".."},"startsAt":"..","endsAt":".."}
std::unique_ptr<core::Encoder> make_alertmanager(const core::NameOf &name_of);
// One line per alert:
//   {"alert":"disk
//   full","state":"firing","severity":"critical","start":1795219532000,"value":91.2,"limit":90,"tags":{"host":"h"},..}
std::unique_ptr<core::Encoder> make_webhook(const core::NameOf &name_of);

}  // namespace atalaya::protocols

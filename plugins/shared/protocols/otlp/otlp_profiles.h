// SPDX-License-Identifier: Apache-2.0
// Encodes stacks as OpenTelemetry's signal "profiles", which is in development: its format may change with each release of the
// protocol.
// Source: opentelemetry-proto 1.10.0, profiles/v1development/profiles.proto. Pure.
#pragma once

#include <memory>

#include "plugins/shared/protocols/base/sample_encoder.h"

namespace atalaya::protocols {

// A request is one ExportProfilesServiceRequest: the stacks of one entity and window are one profile, and all profiles share the
// request's dictionary.
std::unique_ptr<SampleEncoder> make_otlp_profiles(const core::NameOf &name_of);

}  // namespace atalaya::protocols

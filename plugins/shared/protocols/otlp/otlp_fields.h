// SPDX-License-Identifier: Apache-2.0
// Field numbers of the metrics of opentelemetry-proto 1.5 (collector, metrics, resource, common), for all readers and writers.
#pragma once

#include <cstdint>
#include <protozero/types.hpp>

namespace atalaya::protocols::otlp {

using Tag = protozero::pbf_tag_type;

constexpr Tag kRequestResource = 1;        // messages of all requests
constexpr Tag kResource = 1, kScopes = 2;  // ResourceMetrics, ResourceSpans, ResourceProfiles
constexpr Tag kResourceAttribute = 1;      // Resource
constexpr Tag kScope = 1, kScopeItem = 2;  // ScopeMetrics, ScopeSpans, ScopeProfiles
constexpr Tag kScopeName = 1;              // InstrumentationScope
namespace pair {                           // KeyValue
constexpr Tag kKey = 1, kValue = 2;
}
namespace any {  // AnyValue; kMember: of ArrayValue and KeyValueList
constexpr Tag kText = 1, kBoolean = 2, kInteger = 3, kDouble = 4, kList = 5, kMap = 6, kBytes = 7, kMember = 1;
}
namespace metric {
constexpr Tag kName = 1, kDescription = 2, kUnit = 3, kGauge = 5, kSum = 7, kHistogram = 9, kExponential = 10, kSummary = 11;
}
namespace data {  // Gauge, Sum, Histogram, ExponentialHistogram, Summary
constexpr Tag kPoint = 1, kTemporality = 2, kMonotonic = 3;
constexpr int32_t kDelta = 1, kCumulative = 2;
}  // namespace data
namespace point {  // messages of all points; kCount, kSum: not in NumberDataPoint
constexpr Tag kStart = 2, kTime = 3, kCount = 4, kSum = 5;
}
namespace number {
constexpr Tag kAsDouble = 4, kExemplars = 5, kAsInteger = 6, kAttribute = 7, kFlags = 8;
}
namespace histogram {
constexpr Tag kBuckets = 6, kExemplars = 8, kAttribute = 9, kFlags = 10, kMinimum = 11, kMaximum = 12;
}
namespace exponential {
constexpr Tag kAttribute = 1, kZeroCount = 7, kPositive = 8, kNegative = 9, kFlags = 10, kExemplars = 11, kMinimum = 12,
              kMaximum = 13;
}
namespace summary {
constexpr Tag kQuantiles = 6, kAttribute = 7, kFlags = 8;
}
namespace response {  // messages of all responses
constexpr Tag kPartialSuccess = 1, kRejected = 1, kReason = 2;
}

}  // namespace atalaya::protocols::otlp

// The fields of flow export, and how a record's values become columns: at once, since only those
// columns are written that some query uses.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/hash.h"
#include "format/catalog.h"
#include "format/flow_template.h"
#include "format/value_columns.h"

namespace tidewire::flow {

// What open_netflow_format() has made of the options. Fields name the texts of `own`.
struct NetflowOptions {
  std::vector<OwnElement> own;
  std::vector<ValueField> fields;
  std::vector<TwoWords> micros;  // exporters that put microseconds into NTP fractions
  bool micros_of_all = false;
  FlowTime time = FlowTime::kEnd;
  bool multiply = false;
  Duration spread, template_wait;

  bool has_micros(TwoWords exporter) const {
    return micros_of_all || std::find(micros.begin(), micros.end(), exporter) != micros.end();
  }
};

std::vector<ValueField> flow_fields(const std::vector<OwnElement>& own);

// Exporter and domain as one value of two words: IPv4 exact, as the address ::DOMAIN:ffff:a.b.c.d;
// of IPv6 a hash.
inline TwoWords stream_words(const StreamKey& key) {
  if (key.exporter.high == kAbsent && key.exporter.low == kAbsent) return {0, key.domain};
  if (key.exporter.high == 0) return {key.domain, key.exporter.low};
  const int64_t words[4] = {key.exporter.high, key.exporter.low, key.domain, 0};
  const int64_t others[4] = {key.exporter.low, key.exporter.high, key.domain, 1};
  return {static_cast<int64_t>(hash_words<4>(words, HashSeed{})),
          static_cast<int64_t>(hash_words<4>(others, HashSeed{}))};
}

// The rate that a record or an option says; 0: none.
inline int64_t rate_said(const Values& values) {
  if (values[kRate] > 0) return values[kRate];
  const int64_t interval = values[kRateInterval], space = values[kRateSpace];
  if (interval <= 0 || space < 0) return 0;
  return space > INT64_MAX - interval ? INT64_MAX : (interval + space) / interval;
}

}  // namespace tidewire::flow

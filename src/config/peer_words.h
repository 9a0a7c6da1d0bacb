// Words of other stream processors (Flink, Beam, Kafka Streams, SQL) that are no options here, and
// why some options do not go with some windows: what a person who writes them wants to hear.
#pragma once

#include <string>
#include <string_view>

namespace tidewire {

// An option that does not exist: what there is instead, or why there is nothing. Empty: unknown.
std::string_view peer_option(std::string_view section, std::string_view key);
// The same of an option's value.
std::string_view peer_value(std::string_view section, std::string_view key, std::string_view value);
// Why an option has no meaning beside another one's value ("early_every" in a "session").
std::string_view peer_reason(std::string_view section, std::string_view key,
                             std::string_view beside);

}  // namespace tidewire

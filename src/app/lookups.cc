#include "app/lookups.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/strings.h"

namespace tidewire {

absl::StatusOr<LookupContent> read_lookup(const LookupSpec& spec) {
  const auto refuse = [&](const std::string& why) {
    return absl::InvalidArgumentError(to_absl(spec.path + why));
  };
  std::ifstream in(spec.path, std::ios::binary);
  std::string text, piece(64 << 10, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
    text.append(piece, 0, static_cast<size_t>(in.gcount()));
    if (text.size() > kLookupFileMax) return refuse(": is larger than 64 MiB");
  }
  if (!in.eof()) return refuse(std::string(": cannot be read: ") + std::strerror(errno));
  auto content = parse_lookup(spec, text);
  if (!content.ok()) return refuse(":" + std::string(from_absl(content.status().message())));
  return content;
}

absl::StatusOr<std::vector<LookupContent>> read_lookups(std::span<const LookupSpec> specs) {
  std::vector<LookupContent> contents;
  for (const LookupSpec& spec : specs) {
    auto content = read_lookup(spec);
    if (!content.ok()) return content.status();
    contents.push_back(*std::move(content));
  }
  return contents;
}

std::vector<std::string> describe_lookups(std::span<const LookupSpec> specs,
                                          std::span<const LookupContent> contents) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < specs.size(); ++i) {
    char hash[20];
    std::snprintf(hash, sizeof hash, "%016" PRIx64, contents[i].hash);
    lines.push_back(specs[i].path + ": " + std::to_string(contents[i].entries) + " entries, " +
                    hash);
  }
  return lines;
}

}  // namespace tidewire

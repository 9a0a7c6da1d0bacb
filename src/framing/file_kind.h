// What a file is, from its first bytes. Names are never trusted: a capture called .log is read, a
// text called .pcap is refused with what it looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tidewire {

enum class FileKind : uint8_t {
  kPcap,    // any of the six magics: micro, nano, modified, in either byte order
  kPcapng,  // begins with a section header block
  kGzip,
  kZstd,
  kOther,  // known, but not readable here: see name_of_kind
};

inline constexpr size_t kFileKindBytes = 8;  // as many as are looked at; fewer may be given

FileKind file_kind(std::span<const std::byte> head);

// For messages: "a gzip file", "an xz archive", "text", "no file format known here".
std::string_view name_of_kind(std::span<const std::byte> head);

}  // namespace tidewire

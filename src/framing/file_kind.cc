#include "framing/file_kind.h"

#include <algorithm>
#include <array>

namespace tidewire {
namespace {

struct Magic {
  std::string_view bytes;
  FileKind kind;
  std::string_view name;
};

using namespace std::string_view_literals;
constexpr std::array kMagics = {
    Magic{"\xA1\xB2\xC3\xD4"sv, FileKind::kPcap, "a pcap file"},
    Magic{"\xD4\xC3\xB2\xA1"sv, FileKind::kPcap, "a pcap file"},
    Magic{"\xA1\xB2\x3C\x4D"sv, FileKind::kPcap, "a pcap file with nanoseconds"},
    Magic{"\x4D\x3C\xB2\xA1"sv, FileKind::kPcap, "a pcap file with nanoseconds"},
    Magic{"\xA1\xB2\xCD\x34"sv, FileKind::kPcap, "a pcap file with modified records"},
    Magic{"\x34\xCD\xB2\xA1"sv, FileKind::kPcap, "a pcap file with modified records"},
    Magic{"\x0A\x0D\x0D\x0A"sv, FileKind::kPcapng, "a pcapng file"},
    Magic{"\x1F\x8B"sv, FileKind::kGzip, "a gzip file"},
    Magic{"\x28\xB5\x2F\xFD"sv, FileKind::kZstd, "a zstd file"},
    Magic{"\xFD"
          "7zXZ\0"sv,
          FileKind::kOther, "an xz archive (unpack it first)"},
    Magic{"BZh"sv, FileKind::kOther, "a bzip2 file (unpack it first)"},
    Magic{"\x04\x22\x4D\x18"sv, FileKind::kOther, "an lz4 file (unpack it first)"},
    Magic{"PK\x03\x04"sv, FileKind::kOther, "a zip archive (unpack it first)"},
    Magic{"snoop\0\0\0"sv, FileKind::kOther, "a snoop capture (convert it: editcap -F pcapng)"},
    Magic{"\x7F"
          "ELF"sv,
          FileKind::kOther, "a program"},
};

bool begins_with(std::span<const std::byte> head, std::string_view magic) {
  return head.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), head.begin(),
                    [](char m, std::byte b) { return static_cast<std::byte>(m) == b; });
}

}  // namespace

FileKind file_kind(std::span<const std::byte> head) {
  for (const Magic& magic : kMagics)
    if (begins_with(head, magic.bytes)) return magic.kind;
  return FileKind::kOther;
}

std::string_view name_of_kind(std::span<const std::byte> head) {
  for (const Magic& magic : kMagics)
    if (begins_with(head, magic.bytes)) return magic.name;
  const bool text = std::all_of(head.begin(), head.end(), [](std::byte b) {
    const auto c = std::to_integer<uint8_t>(b);
    return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\r' || c == '\t';
  });
  if (head.empty()) return "empty";
  return text ? "text" : "of no format known here";
}

}  // namespace tidewire

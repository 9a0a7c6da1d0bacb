#include "framing/capture_framer.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "framing/file_kind.h"

namespace tidewire {

CaptureFramer::CaptureFramer(std::span<std::byte> spill, FileRecords records)
    : spill_(spill), records_(records) {
  CHECK(spill.size() >= kSpillBytes);
}

void CaptureFramer::begin() {
  spilled_ = need_ = 0;
  skip_ = 0;
  at_ = end_ = nullptr;
  end_offset_ = 0;
  format_ = Format::kUnknown;
  failed_ = long_line_ = false;
}

void CaptureFramer::feed(std::span<const std::byte> block) {
  DCHECK(at_ == end_);
  at_ = block.data();
  end_ = at_ + block.size();
  end_offset_ += block.size();
}

bool CaptureFramer::feed_end() {
  static constexpr std::byte kLineFeed[] = {std::byte{'\n'}};
  if (format_ != Format::kLines || (spilled_ == 0 && !long_line_)) return false;
  feed(kLineFeed);
  --end_offset_;
  return true;
}

Framed CaptureFramer::fail(uint64_t offset, std::string_view what) {
  std::snprintf(failure_.data(), failure_.size(), "at byte %" PRIu64 ": %.*s", offset,
                static_cast<int>(what.size()), what.data());
  failed_ = true;
  return Framed::kFailed;
}

// By the file's first bytes; a capture is one whatever its format's own files are.
void CaptureFramer::find_format(const std::byte* at, const std::byte* end) {
  switch (file_kind({at, end})) {
    case FileKind::kPcap:
      format_ = Format::kPcapHeader;
      return;
    case FileKind::kPcapng:
      format_ = Format::kPcapng;
      pcapng_.begin();
      return;
    case FileKind::kGzip:
    case FileKind::kZstd:
    case FileKind::kOther:
      break;
  }
  if (records_ == FileRecords::kLines) format_ = Format::kLines;
  if (records_ == FileRecords::kMessages) format_ = Format::kMessages;
}

Stop CaptureFramer::read(const std::byte* at, const std::byte* end, Burst& burst) {
  if (format_ == Format::kUnknown) {
    if (end - at < 4) return {.at = at, .need = 4};
    find_format(at, end);
    if (format_ == Format::kUnknown)
      return {.at = at, .error = "no capture begins like this (pcap and pcapng are read)"};
  }
  if (format_ == Format::kMessages) return read_messages(at, end, burst);
  if (format_ == Format::kEnded) return {.at = end};
  if (format_ == Format::kPcapHeader) {
    if (end - at < PcapReader::kHeaderBytes) return {.at = at, .need = PcapReader::kHeaderBytes};
    if (const char* error = pcap_.begin(at)) return {.at = at, .error = error};
    format_ = Format::kPcap;
    at += PcapReader::kHeaderBytes;
  }
  return format_ == Format::kPcap ? pcap_.read(at, end, burst, counts_)
                                  : pcapng_.read(at, end, burst, counts_);
}

void CaptureFramer::append_record(const std::byte* data, size_t bytes, Burst& burst) {
  const auto length = static_cast<uint32_t>(bytes);
  append(burst, {data, length, length, EventTime::before_all(), 0, LinkType::kPayload}, counts_);
}

Stop CaptureFramer::read_messages(const std::byte* at, const std::byte* end, Burst& burst) {
  while (burst.count < burst.limit && at < end) {
    if (end - at < 2) return {.at = at, .need = 2};
    const uint32_t length = load16(at, true);
    if (length == 0) {  // what stands behind it is nobody's
      format_ = Format::kEnded;
      return {.at = end};
    }
    if (end - at - 2 < static_cast<std::ptrdiff_t>(length)) return {.at = at, .need = 2 + length};
    append_record(at + 2, length, burst);
    at += 2 + length;
  }
  return {.at = at};
}

// A line's end is found by looking, so what is spilled grows by whole blocks until it is there.
Framed CaptureFramer::frame_lines(Burst& burst) {
  while (burst.count < burst.limit && at_ < end_) {
    const auto* const line_end =
        static_cast<const std::byte*>(std::memchr(at_, '\n', static_cast<size_t>(end_ - at_)));
    if (line_end == nullptr) {
      // The spill may hold a line of this burst: it is filled only when none is out.
      if (burst.count > 0) return Framed::kPackets;
      keep_line(end_);
      at_ = end_;
      break;
    }
    const std::byte* line = at_;
    auto bytes = static_cast<size_t>(line_end - at_);
    if (spilled_ > 0 || long_line_) {
      keep_line(line_end);
      line = spill_.data();
      bytes = std::exchange(spilled_, 0);
    }
    at_ = line_end + 1;
    if (std::exchange(long_line_, false) || bytes > kMaxCaptured) {
      ++counts_.long_lines;
      continue;
    }
    if (bytes > 0 && line[bytes - 1] == std::byte{'\r'}) --bytes;
    if (bytes > 0) append_record(line, bytes, burst);
  }
  return burst.count > 0 ? Framed::kPackets : Framed::kHungry;
}

// [at_, end) joins the line that is spilled.
void CaptureFramer::keep_line(const std::byte* end) {
  const auto bytes = static_cast<size_t>(end - at_);
  if (long_line_ || bytes > spill_.size() - spilled_) {
    long_line_ = true;
    spilled_ = 0;
    return;
  }
  std::copy(at_, end, spill_.data() + spilled_);
  spilled_ += static_cast<uint32_t>(bytes);
}

Framed CaptureFramer::frame(Burst& burst) {
  burst.count = 0;
  burst.unstamped = 0;
  if (failed_) return Framed::kFailed;
  // A line may be shorter than a capture's first bytes.
  if (format_ == Format::kUnknown && records_ == FileRecords::kLines && at_ < end_)
    find_format(at_, end_);
  if (format_ == Format::kLines) return frame_lines(burst);
  while (burst.count < burst.limit) {
    const auto have = static_cast<uint64_t>(end_ - at_);
    if (skip_ > 0) {
      const uint64_t step = std::min(skip_, have);
      at_ += step;
      skip_ -= step;
      if (skip_ > 0) break;
      continue;
    }
    Stop stop{};
    if (spilled_ > 0) {
      // A record that began in an earlier block: completed beside it, and read there.
      const auto step = static_cast<uint32_t>(std::min<uint64_t>(need_ - spilled_, have));
      std::copy_n(at_, step, spill_.data() + spilled_);
      at_ += step;
      spilled_ += step;
      if (spilled_ < need_) break;
      const std::byte* const end = spill_.data() + spilled_;
      stop = read(spill_.data(), end, burst);
      if (stop.error)
        return fail(end_offset_ - static_cast<uint64_t>(end_ - at_ + (end - stop.at)), stop.error);
      // All that was asked for is consumed, or nothing is and more is asked for.
      DCHECK(stop.at == end || stop.at == spill_.data());
      spilled_ = static_cast<uint32_t>(end - stop.at);
    } else {
      if (have == 0) break;
      stop = read(at_, end_, burst);
      at_ = stop.at;
      // Packets before the fault are handed on first; the fault is found again by the next call.
      if (stop.error)
        return burst.count > 0 ? Framed::kPackets
                               : fail(end_offset_ - static_cast<uint64_t>(end_ - at_), stop.error);
      if (stop.need > 0) {
        // The spill may hold a packet of this burst: it is filled only when none is out.
        if (burst.count > 0) return Framed::kPackets;
        DCHECK(stop.need <= spill_.size());
        spilled_ = static_cast<uint32_t>(end_ - at_);
        std::copy(at_, end_, spill_.data());
        at_ = end_;
      }
    }
    need_ = stop.need;
    skip_ = stop.skip;
  }
  return burst.count > 0 ? Framed::kPackets : Framed::kHungry;
}

Framed CaptureFramer::finish() {
  if (failed_) return Framed::kFailed;
  DCHECK(at_ == end_);
  const bool begun = format_ != Format::kUnknown || records_ != FileRecords::kCaptures;
  if (!begun || format_ == Format::kPcapHeader)
    return fail(end_offset_, "the file ends before its header does");
  if (spilled_ > 0 || skip_ > 0 || (format_ == Format::kPcapng && pcapng_.inside_block()))
    ++counts_.cut_records;
  return Framed::kHungry;
}

}  // namespace tidewire

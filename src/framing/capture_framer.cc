#include "framing/capture_framer.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/check.h"
#include "framing/file_kind.h"

namespace tidewire {

CaptureFramer::CaptureFramer(std::span<std::byte> spill) : spill_(spill) {
  CHECK(spill.size() >= kSpillBytes);
}

void CaptureFramer::begin() {
  spilled_ = need_ = 0;
  skip_ = 0;
  at_ = end_ = nullptr;
  end_offset_ = 0;
  format_ = Format::kUnknown;
  failed_ = false;
}

void CaptureFramer::feed(std::span<const std::byte> block) {
  DCHECK(at_ == end_);
  at_ = block.data();
  end_ = at_ + block.size();
  end_offset_ += block.size();
}

Framed CaptureFramer::fail(uint64_t offset, std::string_view what) {
  std::snprintf(failure_.data(), failure_.size(), "at byte %" PRIu64 ": %.*s", offset,
                static_cast<int>(what.size()), what.data());
  failed_ = true;
  return Framed::kFailed;
}

Stop CaptureFramer::read(const std::byte* at, const std::byte* end, Burst& burst) {
  if (format_ == Format::kUnknown) {
    if (end - at < 4) return {.at = at, .need = 4};
    switch (file_kind({at, end})) {
      case FileKind::kPcap:
        format_ = Format::kPcapHeader;
        break;
      case FileKind::kPcapng:
        format_ = Format::kPcapng;
        pcapng_.begin();
        break;
      case FileKind::kGzip:
      case FileKind::kZstd:
      case FileKind::kOther:
        return {.at = at, .error = "no capture begins like this (pcap and pcapng are read)"};
    }
  }
  if (format_ == Format::kPcapHeader) {
    if (end - at < PcapReader::kHeaderBytes) return {.at = at, .need = PcapReader::kHeaderBytes};
    if (const char* error = pcap_.begin(at)) return {.at = at, .error = error};
    format_ = Format::kPcap;
    at += PcapReader::kHeaderBytes;
  }
  return format_ == Format::kPcap ? pcap_.read(at, end, burst, counts_)
                                  : pcapng_.read(at, end, burst, counts_);
}

Framed CaptureFramer::frame(Burst& burst) {
  burst.count = 0;
  burst.unstamped = 0;
  if (failed_) return Framed::kFailed;
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
  if (format_ == Format::kUnknown || format_ == Format::kPcapHeader)
    return fail(end_offset_, "the file ends before its header does");
  if (spilled_ > 0 || skip_ > 0 || (format_ == Format::kPcapng && pcapng_.inside_block()))
    ++counts_.cut_records;
  return Framed::kHungry;
}

}  // namespace tidewire

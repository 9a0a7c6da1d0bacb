#include "drivers/udp/udp_sink.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tidewire::udp {
namespace {

constexpr size_t kBatch = 64;  // datagrams of one system call

const char* reason(int error) {
  return error == EMSGSIZE ? "record is too long for a datagram" : strerrordesc_np(error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<UdpSink>> UdpSink::open(std::string_view address) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError("cannot send to \"" + std::string(address) +
                                      "\": " + std::string(why));
  };
  constexpr std::string_view kForm = "give it as 192.0.2.1:9000 or [2001:db8::1]:9000";
  const size_t colon = address.find_last_of(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size())
    return refuse(kForm);
  std::string_view host = address.substr(0, colon);
  const std::string port(address.substr(colon + 1));
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos) return refuse(kForm);
  const bool number = port.size() <= 5 && std::all_of(port.begin(), port.end(),
                                                      [](char c) { return c >= '0' && c <= '9'; });
  const int value = number ? std::stoi(port) : 0;
  if (value < 1 || value > 65'535) return refuse("the port must be 1 to 65535");
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(std::string(host).c_str(), port.c_str(), &hints, &found) != 0)
    return refuse(kForm);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> target(found, freeaddrinfo);
  const int fd = socket(target->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refuse(std::strerror(errno));
  std::unique_ptr<UdpSink> sink(new UdpSink(fd));
  if (connect(fd, target->ai_addr, target->ai_addrlen) != 0)
    return refuse(std::string(std::strerror(errno)) + " (is there a route?)");
  return sink;
}

UdpSink::~UdpSink() { close(fd_); }

void UdpSink::send(const Records& records) {
  std::array<iovec, kBatch> pieces;
  std::array<mmsghdr, kBatch> messages;
  const auto start_of = [&](size_t i) { return i == 0 ? 0 : records.ends[i - 1]; };
  size_t next = 0;
  while (next < records.ends.size()) {
    const size_t count = std::min(kBatch, records.ends.size() - next);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t start = start_of(next + i);
      pieces[i] = {.iov_base = const_cast<std::byte*>(records.bytes.data() + start),
                   .iov_len = records.ends[next + i] - start};
      messages[i] = {};
      messages[i].msg_hdr.msg_iov = &pieces[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    const int sent = sendmmsg(fd_, messages.data(), static_cast<unsigned>(count), 0);
    if (sent < 0) {
      if (errno == EINTR) continue;
      account_.lost(1, reason(errno));
      ++next;
      continue;
    }
    const size_t after = next + static_cast<size_t>(sent);
    account_.written(static_cast<uint64_t>(sent), start_of(after) - start_of(next));
    next = after;
  }
}

}  // namespace tidewire::udp

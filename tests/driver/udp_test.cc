#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "drivers/udp/udp_sink.h"

namespace tidewire::udp {
namespace {

// A receiver on the loopback address with a port that the kernel chose.
class Receiver {
 public:
  explicit Receiver(int family) : fd_(socket(family, SOCK_DGRAM, 0)) {
    sockaddr_storage address{};
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&address);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address);
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) {
      v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      v6->sin6_addr = in6addr_loopback;
    }
    socklen_t size = sizeof(address);
    usable_ = fd_ >= 0 && bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
              getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    const int port = ntohs(family == AF_INET ? v4->sin_port : v6->sin6_port);
    address_ = (family == AF_INET ? "127.0.0.1:" : "[::1]:") + std::to_string(port);
  }
  ~Receiver() { stop(); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  void stop() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  std::string take() const {
    std::array<char, 66'000> bytes{};
    const ssize_t got = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(bytes.data(), static_cast<size_t>(got));
  }
  bool usable() const { return usable_; }
  const std::string& address() const { return address_; }

 private:
  int fd_;
  bool usable_ = false;
  std::string address_;
};

struct Lines {
  std::string text;
  std::vector<uint32_t> ends;
  void add(const std::string& line) {
    text += line;
    ends.push_back(static_cast<uint32_t>(text.size()));
  }
  Records records() const {
    return {.bytes = std::as_bytes(std::span(text.data(), text.size())), .ends = ends};
  }
};

SinkCounters sample(const Sink& sink) {
  SinkCounters counters;
  sink.sample(counters);
  return counters;
}

TEST(UdpSink, ADatagramEachInBothFamilies) {
  for (const int family : {AF_INET, AF_INET6}) {
    const Receiver receiver(family);
    if (!receiver.usable()) GTEST_SKIP() << "no IPv6 on loopback";
    const auto sink = UdpSink::open(receiver.address());
    ASSERT_TRUE(sink.ok()) << sink.status().message();
    Lines lines;
    for (int i = 0; i < 150; ++i) lines.add("{\"n\":" + std::to_string(i) + "}\n");
    (*sink)->send(lines.records());
    for (int i = 0; i < 150; ++i) ASSERT_EQ(receiver.take(), "{\"n\":" + std::to_string(i) + "}\n");
    EXPECT_EQ(receiver.take(), "nothing");
    const SinkCounters counters = sample(**sink);
    EXPECT_EQ(counters.records, 150u);
    EXPECT_EQ(counters.bytes, lines.text.size());
    EXPECT_EQ(counters.lost, 0u);
    EXPECT_FALSE(counters.degraded);
  }
}

TEST(UdpSink, ALongRecordIsLostAndTheOthersArrive) {
  const Receiver receiver(AF_INET);
  const auto sink = UdpSink::open(receiver.address());
  ASSERT_TRUE(sink.ok());
  Lines lines;
  lines.add("before");
  lines.add(std::string(65'508, 'x'));  // one more than fits: 65535 - 20 - 8
  lines.add("after");
  lines.add(std::string(65'507, 'y'));
  (*sink)->send(lines.records());
  EXPECT_EQ(receiver.take(), "before");
  EXPECT_EQ(receiver.take(), "after");
  EXPECT_EQ(receiver.take().size(), 65'507u);
  const SinkCounters counters = sample(**sink);
  EXPECT_EQ(counters.records, 3u);
  EXPECT_EQ(counters.lost, 1u);
  EXPECT_STREQ(counters.failure, "record is too long for a datagram");
}

TEST(UdpSink, NobodyThere) {
  Receiver receiver(AF_INET);
  const auto sink = UdpSink::open(receiver.address());
  ASSERT_TRUE(sink.ok());
  receiver.stop();
  Lines lines;
  lines.add("{}");
  for (int i = 0; i < 10; ++i) (*sink)->send(lines.records());
  const SinkCounters counters = sample(**sink);
  // Loopback answers at once: every second send finds the answer to the one before it.
  EXPECT_EQ(counters.records + counters.lost, 10u);
  EXPECT_EQ(counters.lost, 5u);
  EXPECT_STREQ(counters.failure, "Connection refused");
}

TEST(UdpSink, AddressesAreNumbersWithAPort) {
  constexpr const char* kForm = "give it as 192.0.2.1:9000 or [2001:db8::1]:9000";
  const auto message = [](const char* address) {
    return std::string(UdpSink::open(address).status().message());
  };
  for (const char* address : {"127.0.0.1", "localhost:9", ":9", "1.2.3.4:", "::1:9", "[::1:9", ""})
    EXPECT_EQ(message(address), "cannot send to \"" + std::string(address) + "\": " + kForm);
  for (const char* address : {"1.2.3.4:0", "1.2.3.4:65536", "1.2.3.4:http", "1.2.3.4:999999"})
    EXPECT_EQ(message(address),
              "cannot send to \"" + std::string(address) + "\": the port must be 1 to 65535");
  EXPECT_TRUE(UdpSink::open("[::1]:65535").ok() || !Receiver(AF_INET6).usable());
}

}  // namespace
}  // namespace tidewire::udp

// The names that numbers have in texts, and the letters of the TCP flags: what field_text.cc writes
// and field_parse.cc reads. Sources: IANA protocol-numbers and ieee-802-numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidewire {

inline constexpr std::string_view kHex = "0123456789abcdef";
inline constexpr std::string_view kFlagLetters =
    "FSRPAUEC";  // bit 0 first (RFC 9293 3.1, RFC 3168)

struct NumberName {
  uint16_t number;
  std::string_view name;
};
// The first name of a number is the one written; later ones are accepted too.
inline constexpr NumberName kProtocols[] = {
    {0, "hopopt"}, {1, "icmp"},   {2, "igmp"},       {4, "ipip"},   {6, "tcp"},
    {8, "egp"},    {9, "igp"},    {17, "udp"},       {33, "dccp"},  {41, "ipv6"},
    {46, "rsvp"},  {47, "gre"},   {50, "esp"},       {51, "ah"},    {58, "icmpv6"},
    {88, "eigrp"}, {89, "ospf"},  {94, "etherip"},   {103, "pim"},  {108, "ipcomp"},
    {112, "vrrp"}, {115, "l2tp"}, {124, "isis"},     {132, "sctp"}, {136, "udplite"},
    {137, "mpls"}, {58, "icmp6"}, {58, "ipv6-icmp"}, {4, "ipv4"},
};
inline constexpr NumberName kEthertypes[] = {
    {0x0800, "ipv4"},           {0x0806, "arp"},
    {0x8035, "rarp"},           {0x8100, "vlan"},
    {0x86DD, "ipv6"},           {0x8808, "pause"},
    {0x8809, "lacp"},           {0x8847, "mpls"},
    {0x8848, "mpls-multicast"}, {0x8863, "pppoe-discovery"},
    {0x8864, "pppoe"},          {0x888E, "eapol"},
    {0x88A8, "qinq"},           {0x88CC, "lldp"},
    {0x88E5, "macsec"},         {0x88F7, "ptp"},
    {0x8864, "pppoe-session"},  {0x0800, "ip"},
};

}  // namespace tidewire

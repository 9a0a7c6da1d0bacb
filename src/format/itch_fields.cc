// Layouts: "Nasdaq TotalView-ITCH 5.0", all big-endian. Every message begins with
//
//   type 1 | stock locate 2 | tracking 2 | time 6 (ns since midnight) | body by type, from 11 on

#include "format/itch_fields.h"

#include <string_view>

namespace tidewire {
namespace {

using M = const ItchMessage&;

// A field of a message type. Bodies begin behind 11 bytes, so the 8 bytes that end where a field
// does lie in the message: one read and a mask give a field of any width.
struct At {
  char type;
  uint8_t offset;
};
template <uint32_t kWidth, At... kAt>
constexpr auto kRead = [] {
  std::array<uint8_t, 256> from{};  // by type; 0: it has no such field
  ((from[static_cast<uint8_t>(kAt.type)] = static_cast<uint8_t>(kAt.offset + kWidth - 8)), ...);
  return from;
}();
template <uint32_t kWidth>
constexpr uint64_t kMask = ~uint64_t{0} >> (64 - 8 * kWidth);

constexpr int64_t number(uint64_t value) { return static_cast<int64_t>(value); }

template <uint32_t kWidth, At... kAt>
int64_t read_number(M m) {
  const uint8_t from = kRead<kWidth, kAt...>[m.at[0]];
  const uint64_t value = read_be64(m.at + from) & kMask<kWidth>;
  return from != 0 ? number(value) : kAbsent;
}
template <uint32_t kWidth, At... kAt>
int64_t read_text(M m) {
  const uint8_t from = kRead<kWidth, kAt...>[m.at[0]];
  uint64_t characters = read_be64(m.at + from) << (64 - 8 * kWidth);
  if constexpr (kWidth < 8) characters |= 0x2020202020202020u >> (8 * kWidth);
  const int64_t text = itch_text(characters);
  return from != 0 ? text : kAbsent;
}
// Four bytes, but eight in a cross (Q).
int64_t read_shares(M m) {
  constexpr auto& kFour = kRead<4, At{'A', 20}, At{'F', 20}, At{'E', 19}, At{'C', 19}, At{'X', 19},
                                At{'U', 27}, At{'P', 20}>;
  if (m.at[0] == 'Q') return number(read_be64(m.at + 11));
  const uint8_t from = kFour[m.at[0]];
  const uint64_t value = read_be64(m.at + from) & kMask<4>;
  return from != 0 ? number(value) : kAbsent;
}
TwoWords read_session(M m) {
  if (m.session == nullptr) return {kAbsent, kAbsent};
  const int64_t tail = itch_text(uint64_t{read_be16(m.session + 8)} << 48 | 0x202020202020u);
  const uint64_t head = read_be64(m.session);
  return {tail == 0 ? itch_text(head) : number(head), tail};
}

using Name = std::string_view;
using Items = ItemField<ItchMessage>;
constexpr auto kInteger = FieldType::kInteger;
constexpr auto kText = FieldType::kText;

// A number or a text that some types have.
template <uint32_t kWidth, At... kAt>
constexpr Items count_of(Name name, Name help, uint8_t decimals = 0) {
  return {{name, kInteger, 1, kWidth == 8 ? 63 : 8 * kWidth, decimals, true, help},
          fill<read_number<kWidth, kAt...>>};
}
template <uint32_t kWidth, At... kAt>
constexpr Items text_of(Name name, Name help) {
  return {{name, kText, 1, 63, 0, true, help}, fill<read_text<kWidth, kAt...>>};
}

constexpr std::string_view kSymbol = "symbol";

// Behind the first six in the order in which one is likely to want them: what shows as many as
// there is room for (peek) takes them from here.
const Items kFields[] = {
    {{"type", kText, 1, 63, 0, false, "message type: A add, E executed, P trade, ..."},
     fill<[](M m) { return number(uint64_t{m.at[0]} << 56); }>},
    {{"stock_locate", kInteger, 1, 16, 0, false, "the day's number of the stock; 0: no stock"},
     fill<[](M m) { return number(read_be16(m.at + 1)); }>},
    {{"tracking", kInteger, 1, 16, 0, false, "the exchange's internal tracking number"},
     fill<[](M m) { return number(read_be16(m.at + 3)); }>},
    {{"message_time", kInteger, 1, 48, 0, false, "nanoseconds since midnight, as on the wire"},
     fill<[](M m) { return number(itch_stamp(m.at)); }>},
    text_of<8, At{'R', 11}, At{'H', 11}, At{'Y', 11}, At{'L', 15}, At{'K', 11}, At{'J', 11},
            At{'h', 11}, At{'A', 24}, At{'F', 24}, At{'P', 24}, At{'Q', 19}, At{'I', 28},
            At{'N', 11}, At{'O', 11}>("stock",
                                      "symbol in the message; E, C, X, D, U have none: symbol"),
    {{kSymbol, kText, 1, 63, 0, true,
      "name of stock_locate by the session's directory (R); absent before it has come"},
     fill<[](M m) { return m.symbol; }>},
    text_of<1, At{'A', 19}, At{'F', 19}, At{'P', 19}>("side", "B or S; of A, F, P"),
    {{"shares", kInteger, 1, 63, 0, true, "shares of A, F, E, C, X, U, P, Q"}, fill<read_shares>},
    count_of<4, At{'A', 32}, At{'F', 32}, At{'C', 32}, At{'U', 31}, At{'P', 32}, At{'Q', 27}>(
        "price", "price of A, F, C, U, P, Q", 4),
    count_of<8, At{'A', 11}, At{'F', 11}, At{'E', 11}, At{'C', 11}, At{'X', 11}, At{'D', 11},
             At{'U', 11}, At{'P', 11}>("order_ref",
                                       "order of A, F, E, C, X, D, P; U: the one replaced"),
    count_of<8, At{'E', 23}, At{'C', 23}, At{'P', 36}, At{'Q', 31}, At{'B', 11}>(
        "match", "match number of E, C, P, Q, B"),
    {{"sequence", kInteger, 1, 63, 0, true,
      "MoldUDP64 sequence number of the message; none in files of messages"},
     fill<[](M m) { return number(m.sequence); }>},
    {{"session", kText, 2, 63, 0, true, "MoldUDP64 session; none in files of messages"},
     fill<read_session>},
    count_of<8, At{'U', 19}>("new_order_ref", "order that a replace (U) makes"),
    text_of<4, At{'F', 36}, At{'L', 11}>("participant",
                                         "market participant: attribution of F, maker of L"),
    text_of<1, At{'C', 31}>("printable", "Y or N; of C. N: not to be counted in volume"),
    text_of<1, At{'Q', 39}, At{'I', 48}>("cross_type", "O open, C close, H halt or IPO; of Q, I"),
    count_of<8, At{'I', 11}>("paired_shares", "shares that match at the reference price; of I"),
    count_of<8, At{'I', 19}>("imbalance", "shares that do not; of I"),
    text_of<1, At{'I', 27}>("imbalance_side", "B, S, N none, O too few orders, P paused; of I"),
    text_of<1, At{'S', 11}>("event_code", "system event: O S Q M E C; of S"),
    text_of<1, At{'H', 19}>("trading_state", "H halted, P paused, Q quotes only, T trading; of H"),
    text_of<4, At{'H', 21}>("reason", "why trading is halted or goes on; of H"),
    // Nothing from here on fits what shows one batch of columns.
    count_of<4, At{'I', 36}>("far_price", "price of the cross among cross orders only; of I", 4),
    count_of<4, At{'I', 40}, At{'O', 28}>("near_price",
                                          "price of the cross with all orders; of I, O", 4),
    count_of<4, At{'I', 44}, At{'J', 19}>("reference_price", "reference of I, J", 4),
    count_of<4, At{'J', 23}, At{'O', 44}>("upper_price", "upper collar of J, O", 4),
    count_of<4, At{'J', 27}, At{'O', 40}>("lower_price", "lower collar of J, O", 4),
    text_of<1, At{'I', 49}>("price_variation", "how far near and reference price differ; of I"),
    count_of<4, At{'J', 31}>("collar_extension", "extensions of the auction so far; of J"),
    text_of<1, At{'R', 19}>("market_category", "where it is listed; of R"),
    text_of<1, At{'R', 20}>("financial_status", "D deficient, E delinquent, N normal, ...; of R"),
    count_of<4, At{'R', 21}>("round_lot", "shares of a round lot; of R"),
    text_of<1, At{'R', 25}>("round_lots_only", "Y or N; of R"),
    text_of<1, At{'R', 26}>("issue_class", "A depositary share, C common, Q fund, ...; of R"),
    text_of<2, At{'R', 27}>("issue_subtype", "kind of the issue, by the exchange's table; of R"),
    text_of<1, At{'R', 29}>("authenticity", "P production, T test; of R"),
    text_of<1, At{'R', 30}>("short_sale_threshold", "Y or N; of R"),
    text_of<1, At{'R', 31}>("ipo", "set up for an IPO: Y or N; of R"),
    text_of<1, At{'R', 32}>("luld_tier", "tier of the limit-up limit-down plan: 1 or 2; of R"),
    text_of<1, At{'R', 33}>("etp", "exchange-traded product: Y or N; of R"),
    count_of<4, At{'R', 34}>("etp_leverage", "its leverage, a whole number; of R"),
    text_of<1, At{'R', 38}>("etp_inverse", "it moves against its index: Y or N; of R"),
    text_of<1, At{'Y', 19}>("reg_sho", "short sale restriction: 0 none, 1 or 2 in force; of Y"),
    text_of<1, At{'L', 23}>("primary_maker", "Y or N; of L"),
    text_of<1, At{'L', 24}>("maker_mode", "N normal, P passive, S syndicate, ...; of L"),
    text_of<1, At{'L', 25}>("maker_state", "A active, E excused, W withdrawn, ...; of L"),
    count_of<8, At{'V', 11}>("decline_level_1", "index value of level 1; of V", 8),
    count_of<8, At{'V', 19}>("decline_level_2", "index value of level 2; of V", 8),
    count_of<8, At{'V', 27}>("decline_level_3", "index value of level 3; of V", 8),
    text_of<1, At{'W', 11}>("breached_level", "1, 2 or 3; of W"),
    count_of<4, At{'K', 19}>("release_time", "of quotes, in seconds since midnight; of K"),
    text_of<1, At{'K', 23}>("release_qualifier", "A expected, C cancelled; of K"),
    count_of<4, At{'K', 24}>("ipo_price", "price of the IPO; of K", 4),
    text_of<1, At{'h', 19}>("market", "Q Nasdaq, B BX, X PSX; of h"),
    text_of<1, At{'h', 20}>("halt_action", "H halted, T trading again; of h"),
    text_of<1, At{'N', 19}>("interest", "retail interest: B, S, A both, N none; of N"),
    text_of<1, At{'O', 19}>("open_eligible", "listing may be released to trade: Y or N; of O"),
    count_of<4, At{'O', 20}>("least_price", "lowest price at which it may open; of O", 4),
    count_of<4, At{'O', 24}>("greatest_price", "highest price at which it may open; of O", 4),
    count_of<8, At{'O', 32}>("near_time", "when near_price was found, as on the wire; of O"),
};
static_assert(std::size(kFields) <= kFieldMax);

}  // namespace

constinit const std::array<uint32_t, 256> kItchLengths = [] {
  std::array<uint32_t, 256> of{};
  of.fill(kItchUnknown);
  constexpr struct {
    char type;
    uint8_t length;
  } kTypes[] = {{'S', 12}, {'R', 39}, {'H', 25}, {'Y', 20}, {'L', 26}, {'V', 35},
                {'W', 12}, {'K', 28}, {'J', 35}, {'h', 21}, {'A', 36}, {'F', 40},
                {'E', 31}, {'C', 36}, {'X', 23}, {'D', 19}, {'U', 35}, {'P', 44},
                {'Q', 40}, {'B', 19}, {'I', 50}, {'N', 20}, {'O', 48}};
  for (const auto& known : kTypes) of[static_cast<uint8_t>(known.type)] = known.length;
  return of;
}();

std::span<const Items> itch_fields() { return kFields; }

uint32_t itch_symbol_field() {
  uint32_t at = 0;
  while (kFields[at].field.name != kSymbol) ++at;
  return at;
}

}  // namespace tidewire

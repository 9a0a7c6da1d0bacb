#include "query/nearest.h"

#include <algorithm>
#include <vector>

namespace tidewire {
namespace {

// Optimal string alignment distance, three rows.
size_t distance(std::string_view a, std::string_view b) {
  const auto at = [](std::string_view s, size_t i) {
    const char c = s[i];
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = at(a, i - 1) == at(b, j - 1) ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && at(a, i - 1) == at(b, j - 2) && at(a, i - 2) == at(b, j - 1))
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

constexpr size_t kLongestCompared =
    64;                         // the distance is quadratic; a longer word is no typing error
constexpr size_t kListed = 32;  // all fields of each format

}  // namespace

std::string_view nearest_name(std::string_view written, std::span<const std::string_view> valid) {
  if (written.size() > kLongestCompared) return {};
  size_t best = std::max<size_t>(1, written.size() / 3) + 1;
  std::string_view found;
  for (const std::string_view name : valid) {
    // A name of which nothing would be left is not near.
    const size_t d = distance(written, name);
    if (d < best && d < std::max(written.size(), name.size())) {
      best = d;
      found = name;
    }
  }
  return found;
}

std::string suggestion(std::string_view written, std::span<const std::string_view> valid) {
  const std::string_view near = nearest_name(written, valid);
  if (!near.empty()) return "; did you mean '" + std::string(near) + "'?";
  if (valid.empty()) return {};
  std::string text = "; valid are: ";
  for (size_t i = 0; i < valid.size() && i < kListed; ++i) {
    if (i > 0) text += ", ";
    text += valid[i];
  }
  if (valid.size() > kListed) text += ", ...";
  return text;
}

}  // namespace tidewire

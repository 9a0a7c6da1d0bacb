#include "config/zone_name.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "query/nearest.h"

namespace tidewire {
namespace {

// "Europe/Vienna", ...: files below the database's folder, without its tables (zone.tab) and
// without its second copies (posix, right).
std::vector<std::string> zone_names() {
  const char* set = std::getenv("TZDIR");
  const std::filesystem::path folder = set != nullptr ? set : "/usr/share/zoneinfo";
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().lexically_relative(folder).string();
    if (name.starts_with("posix") || name.starts_with("right"))
      entry.disable_recursion_pending();
    else if (name.front() >= 'A' && name.front() <= 'Z' && entry->is_regular_file(error))
      names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());  // folders have no order
  return names;
}

}  // namespace

std::string nearest_zone(std::string_view written) {
  const std::vector<std::string> names = zone_names();
  const std::vector<std::string_view> whole(names.begin(), names.end());
  if (const std::string_view near = nearest_name(written, whole); !near.empty())
    return std::string(near);
  std::vector<std::string_view> cities;
  for (const std::string& name : names) {
    const size_t slash = name.rfind('/');
    cities.push_back(slash == std::string::npos ? std::string_view()
                                                : whole[cities.size()].substr(slash + 1));
  }
  const std::string_view near = nearest_name(written, cities);
  if (near.empty()) return {};
  return names[static_cast<size_t>(std::find(cities.begin(), cities.end(), near) - cities.begin())];
}

}  // namespace tidewire

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "drivers/uring/file_source.h"

namespace tidewire::uring {

absl::StatusOr<std::vector<std::string>> list_files(const std::string& directory,
                                                    const std::string& pattern) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> paths;
  fs::directory_iterator at(directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code unreadable;
    if (!at->is_regular_file(unreadable)) continue;
    if (fnmatch(pattern.c_str(), at->path().filename().c_str(), FNM_PERIOD) == 0)
      paths.push_back(at->path().string());
  }
  if (error) return absl::NotFoundError("cannot list " + directory + ": " + error.message());
  if (paths.empty()) return absl::NotFoundError("no file in " + directory + " matches " + pattern);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace tidewire::uring

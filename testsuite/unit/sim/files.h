// SPDX-License-Identifier: GPL-2.0-or-later
// Small files for the tests of the readers, and the real logs where a machine has them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace market::sim::test {

/// A file with this text, removed in the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text, bool packed = false) {
    std::string name = (std::filesystem::temp_directory_path() / "sim-XXXXXX").string();
    const int descriptor = mkstemp(name.data());
    if (descriptor >= 0) close(descriptor);
    path_ = name;
    if (packed) {
      const gzFile file = gzopen(path_.c_str(), "wb");
      gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
      gzclose(file);
    } else {
      std::ofstream(path_, std::ios::binary) << text;
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A log of the Parallel Workloads Archive or the like in the folder MARKET_TRACES; "" where there is
/// none.
inline std::string trace(const std::string& name) {
  const char* folder = std::getenv("MARKET_TRACES");
  if (folder == nullptr) return "";
  const std::string path = std::string(folder) + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace market::sim::test

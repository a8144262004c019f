// SPDX-License-Identifier: GPL-2.0-or-later
// Lines of a text file, packed by gzip or not.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/result.h"

namespace market::sim {

class LineReader {
 public:
  /// "-" is standard input. Fails with the path and the system's reason.
  static Result<LineReader> open(const std::string& path);

  /// The next line without its end ("\n" or "\r\n"), valid until the next call. Nothing at the end
  /// of the file, and where it cannot be read any further.
  std::optional<std::string_view> next();
  /// Of the line read last, from 1.
  std::size_t number() const { return number_; }
  /// Why the file ended before its end (damaged or cut off, a line of more than a megabyte); "" when
  /// all of it was read.
  const std::string& error() const { return error_; }

 private:
  struct Close {
    void operator()(void* file) const;
  };
  LineReader(std::string path, void* file);
  bool fill();

  std::string path_, error_;
  std::unique_ptr<void, Close> file_;  // zlib's gzFile
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0, number_ = 0;
};

}  // namespace market::sim

// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/line_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

namespace market::sim {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kBuffer = 2 * kLongestLine;

gzFile as_gz(void* file) {
  return static_cast<gzFile>(file);
}

}  // namespace

void LineReader::Close::operator()(void* file) const {
  gzclose_r(as_gz(file));
}

LineReader::LineReader(std::string path, void* file)
    : path_(std::move(path)), file_(file), buffer_(kBuffer) {}

Result<LineReader> LineReader::open(const std::string& path) {
  errno = 0;
  const bool standard = path == "-";
  struct stat found {};
  if (!standard && stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode))
    return fail(fmt::format("{}: {}", path, std::strerror(EISDIR)));
  gzFile file = standard ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb");
  if (file == nullptr)
    return fail(fmt::format("{}: {}", path, std::strerror(errno == 0 ? ENOMEM : errno)));
  return LineReader(standard ? "standard input" : path, file);
}

// Moves what is left to the front and reads behind it; false at the end of the file.
bool LineReader::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const int got =
      gzread(as_gz(file_.get()), buffer_.data() + end_, static_cast<unsigned>(kBuffer - end_));
  int code = Z_OK;
  const char* why = gzerror(as_gz(file_.get()), &code);
  if (got < 0 || code == Z_BUF_ERROR) {
    error_ = fmt::format("{}: after line {}: {}", path_, number_,
                         code == Z_ERRNO ? std::strerror(errno) : why);
    return false;
  }
  end_ += static_cast<std::size_t>(got);
  return got > 0;
}

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = begin_;
  while (error_.empty()) {
    const char* data = buffer_.data();
    const void* found = std::memchr(data + searched, '\n', end_ - searched);
    if (found == nullptr) {
      if (end_ - begin_ > kLongestLine) {
        error_ = fmt::format("{}: line {} is longer than a megabyte", path_, number_ + 1);
        break;
      }
      const std::size_t unread = end_ - begin_;
      if (fill()) {
        searched = unread;
        continue;
      }
      if (!error_.empty() || begin_ == end_) break;
    }
    const std::size_t stop =
        found == nullptr ? end_ : static_cast<std::size_t>(static_cast<const char*>(found) - data);
    std::string_view line(buffer_.data() + begin_, stop - begin_);
    begin_ = found == nullptr ? end_ : stop + 1;
    ++number_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }
  return std::nullopt;
}

}  // namespace market::sim

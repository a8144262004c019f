// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "contrib/smarket/patience.h"
#include "contrib/smarket/verbs.h"
#include "core/solve/solve.h"

namespace market::smarket {
namespace {

constexpr std::size_t kLargestInput = std::size_t{1} << 30;

Result<std::string> read_all(const std::string& file) {
  const bool standard = file == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(
      standard ? nullptr : std::fopen(file.c_str(), "rb"), std::fclose);
  std::FILE* stream = standard ? stdin : opened.get();
  if (stream == nullptr) return fail(fmt::format("{}: {}", file, std::strerror(errno)));
  std::string text;
  char buffer[1 << 16];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, stream)) > 0;) {
    text.append(buffer, count);
    if (text.size() > kLargestInput) return fail(fmt::format("{}: larger than 1 GB", file));
  }
  if (std::ferror(stream) != 0) return fail(fmt::format("{}: {}", file, std::strerror(errno)));
  return text;
}

}  // namespace

int solve(const std::string& mechanism, const std::string& file) {
  const auto input = read_all(file);
  if (!input) return complain(input.error(), kBadInput);
  const auto solution = [&] {
    const Patience patience("smarket: solving " + mechanism);
    return market::solve(mechanism, *input);
  }();
  if (!solution) return complain(solution.error(), kBadInput);
  fmt::print("{}\n", *solution);
  return kSuccess;
}

}  // namespace market::smarket

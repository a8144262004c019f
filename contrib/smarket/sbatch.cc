// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/sbatch.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace market::smarket {
namespace {

/// What a child writes; a file in memory, since a pipe could fill up.
class Captured {
 public:
  explicit Captured(const char* name) : memory_(memfd_create(name, MFD_CLOEXEC)) {}
  ~Captured() {
    if (memory_ >= 0) close(memory_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  int descriptor() const { return memory_; }

  std::string text() const {
    std::string text;
    if (memory_ < 0 || lseek(memory_, 0, SEEK_SET) != 0) return text;
    char buffer[4096];
    for (ssize_t count; (count = read(memory_, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(count));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

 private:
  int memory_;
};

[[noreturn]] void become_sbatch(char* const* words, const Captured& said, const Captured& error) {
  for (const char* bid : {"SBATCH_BUDGET", "SBATCH_BUDGET_RATE", "SBATCH_VALUE"}) unsetenv(bid);
  dup2(said.descriptor(), STDOUT_FILENO);
  dup2(error.descriptor(), STDERR_FILENO);
  execvp(words[0], words);
  constexpr const char* kMissing = "sbatch cannot be run: is it in PATH?\n";
  (void)!write(STDERR_FILENO, kMissing, std::strlen(kMissing));
  _exit(127);
}

/// One line of what sbatch said, without its own name before it.
std::string line_of(std::string text) {
  constexpr std::string_view kName = "sbatch: ", kError = "error: ";
  std::string line;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view one = std::string_view(text).substr(0, end);
    if (one.starts_with(kName)) one.remove_prefix(kName.size());
    if (one.starts_with(kError)) one.remove_prefix(kError.size());
    if (!one.empty()) line.append(line.empty() ? "" : "; ").append(one);
    text.erase(0, end == text.npos ? end : end + 1);
  }
  return line;
}

}  // namespace

Result<std::uint32_t> run_sbatch(const std::vector<std::string>& words) {
  std::vector<std::string> texts{"sbatch", "--parsable"};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  const Captured said("said"), error("error");
  const pid_t child = fork();
  if (child < 0) return fail(fmt::format("sbatch cannot be run: {}", std::strerror(errno)));
  if (child == 0) become_sbatch(argv.data(), said, error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string number = said.text();
  std::uint32_t job = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), job);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && read.ec == std::errc()) return job;
  const std::string why = line_of(error.text());
  return fail(why.empty() ? "sbatch failed and does not say why" : why);
}

}  // namespace market::smarket

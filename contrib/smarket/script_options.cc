// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/script_options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace market::smarket {
namespace {

constexpr std::size_t kLargestScript = 4 << 20;  // sbatch takes no larger one

enum class Meaning {
  kCounts,     ///< it has a field
  kExclusive,  ///< --exclusive, or a kind of it that is not counted
  kHarmless,   ///< bears on neither size, time nor price
  kUncounted,
};

struct Known {
  const char* name;
  char letter;  ///< 0: none
  int has_arg;
  Meaning meaning;
  std::string SizeArguments::*size;
  std::string QuoteArguments::*job;
};

// The options of sbatch that may stand in a script, and those of the market.
constexpr Known kOptions[] = {
    {"nodes", 'N', required_argument, Meaning::kCounts, &SizeArguments::nodes, {}},
    {"ntasks", 'n', required_argument, Meaning::kCounts, &SizeArguments::tasks, {}},
    {"cpus-per-task", 'c', required_argument, Meaning::kCounts, &SizeArguments::cpus_per_task, {}},
    {"ntasks-per-node", 0, required_argument, Meaning::kCounts, &SizeArguments::tasks_per_node, {}},
    {"mincpus", 0, required_argument, Meaning::kCounts, &SizeArguments::mincpus, {}},
    {"ntasks-per-core", 0, required_argument, Meaning::kCounts, &SizeArguments::tasks_per_core, {}},
    {"threads-per-core",
     0,
     required_argument,
     Meaning::kCounts,
     &SizeArguments::threads_per_core,
     {}},
    {"ntasks-per-gpu", 0, required_argument, Meaning::kCounts, &SizeArguments::tasks_per_gpu, {}},
    {"mem", 0, required_argument, Meaning::kCounts, &SizeArguments::mem, {}},
    {"mem-per-cpu", 0, required_argument, Meaning::kCounts, &SizeArguments::mem_per_cpu, {}},
    {"mem-per-gpu", 0, required_argument, Meaning::kCounts, &SizeArguments::mem_per_gpu, {}},
    {"gres", 0, required_argument, Meaning::kCounts, &SizeArguments::gres, {}},
    {"gpus", 'G', required_argument, Meaning::kCounts, &SizeArguments::gpus, {}},
    {"gpus-per-node", 0, required_argument, Meaning::kCounts, &SizeArguments::gpus_per_node, {}},
    {"gpus-per-task", 0, required_argument, Meaning::kCounts, &SizeArguments::gpus_per_task, {}},
    {"cpus-per-gpu", 0, required_argument, Meaning::kCounts, &SizeArguments::cpus_per_gpu, {}},
    {"constraint", 'C', required_argument, Meaning::kCounts, &SizeArguments::constraint, {}},
    {"time", 't', required_argument, Meaning::kCounts, {}, &QuoteArguments::time_limit},
    {"begin", 'b', required_argument, Meaning::kCounts, {}, &QuoteArguments::begin},
    {"deadline", 0, required_argument, Meaning::kCounts, {}, &QuoteArguments::deadline},
    {"partition", 'p', required_argument, Meaning::kCounts, {}, &QuoteArguments::partition},
    {"account", 'A', required_argument, Meaning::kCounts, {}, &QuoteArguments::account},
    {"qos", 'q', required_argument, Meaning::kCounts, {}, &QuoteArguments::qos},
    {"class", 0, required_argument, Meaning::kCounts, {}, &QuoteArguments::job_class},
    {"work", 0, required_argument, Meaning::kCounts, {}, &QuoteArguments::work},
    {"budget", 0, required_argument, Meaning::kCounts, {}, &QuoteArguments::budget},
    {"value", 0, required_argument, Meaning::kCounts, {}, &QuoteArguments::value},
    {"exclusive", 0, optional_argument, Meaning::kExclusive, {}, {}},
    {"job-name", 'J', required_argument, Meaning::kHarmless, {}, {}},
    {"output", 'o', required_argument, Meaning::kHarmless, {}, {}},
    {"error", 'e', required_argument, Meaning::kHarmless, {}, {}},
    {"input", 'i', required_argument, Meaning::kHarmless, {}, {}},
    {"mail-type", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"mail-user", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"comment", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"chdir", 'D', required_argument, Meaning::kHarmless, {}, {}},
    {"workdir", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"wrap", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"export", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"export-file", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"open-mode", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"signal", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"wckey", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"acctg-freq", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"profile", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"prefer", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"delay-boot", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"gid", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"uid", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"cluster-constraint", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"kill-on-invalid-dep", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"budget-rate", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"quote", 0, required_argument, Meaning::kHarmless, {}, {}},
    {"hold", 'H', no_argument, Meaning::kHarmless, {}, {}},
    {"parsable", 0, no_argument, Meaning::kHarmless, {}, {}},
    {"quiet", 'Q', no_argument, Meaning::kHarmless, {}, {}},
    {"verbose", 'v', no_argument, Meaning::kHarmless, {}, {}},
    {"wait", 'W', no_argument, Meaning::kHarmless, {}, {}},
    {"requeue", 0, no_argument, Meaning::kHarmless, {}, {}},
    {"no-requeue", 0, no_argument, Meaning::kHarmless, {}, {}},
    {"ignore-pbs", 0, no_argument, Meaning::kHarmless, {}, {}},
    {"test-only", 0, no_argument, Meaning::kHarmless, {}, {}},
    {"get-user-env", 0, optional_argument, Meaning::kHarmless, {}, {}},
    {"nice", 0, optional_argument, Meaning::kHarmless, {}, {}},
    {"no-kill", 'k', optional_argument, Meaning::kHarmless, {}, {}},
    {"propagate", 0, optional_argument, Meaning::kHarmless, {}, {}},
    {"array", 'a', required_argument, Meaning::kUncounted, {}, {}},
    {"nodelist", 'w', required_argument, Meaning::kUncounted, {}, {}},
    {"nodefile", 'F', required_argument, Meaning::kUncounted, {}, {}},
    {"exclude", 'x', required_argument, Meaning::kUncounted, {}, {}},
    {"dependency", 'd', required_argument, Meaning::kUncounted, {}, {}},
    {"licenses", 'L', required_argument, Meaning::kUncounted, {}, {}},
    {"reservation", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"time-min", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"core-spec", 'S', required_argument, Meaning::kUncounted, {}, {}},
    {"thread-spec", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"hint", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"distribution", 'm', required_argument, Meaning::kUncounted, {}, {}},
    {"extra-node-info", 'B', required_argument, Meaning::kUncounted, {}, {}},
    {"sockets-per-node", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"cores-per-socket", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"ntasks-per-socket", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"gpus-per-socket", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"gpu-bind", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"gpu-freq", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"mem-bind", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"cpu-freq", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"network", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"clusters", 'M', required_argument, Meaning::kUncounted, {}, {}},
    {"tmp", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"mcs-label", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"bb", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"bbf", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"container", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"power", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"priority", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"batch", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"tres-per-task", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"tres-bind", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"gres-flags", 0, required_argument, Meaning::kUncounted, {}, {}},
    {"contiguous", 0, no_argument, Meaning::kUncounted, {}, {}},
    {"spread-job", 0, no_argument, Meaning::kUncounted, {}, {}},
    {"overcommit", 'O', no_argument, Meaning::kUncounted, {}, {}},
    {"oversubscribe", 's', no_argument, Meaning::kUncounted, {}, {}},
    {"use-min-nodes", 0, no_argument, Meaning::kUncounted, {}, {}},
    {"reboot", 0, no_argument, Meaning::kUncounted, {}, {}},
    {"switches", 0, optional_argument, Meaning::kUncounted, {}, {}},
};

/// The words of a line as sbatch parts them: quotes hold blanks together, a backslash takes the next
/// character as it is, and # begins a comment. Nothing where a quote is not closed.
std::optional<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      in_word = true;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else if (c == '#' && !in_word) {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return quote == 0 ? std::optional(words) : std::nullopt;
}

std::string text_of(const Known& option, const char* value) {
  return value == nullptr ? fmt::format("--{}", option.name)
                          : fmt::format("--{}={}", option.name, value);
}

void take(const Known& option, const char* value, const std::string& place, ScriptOptions& script) {
  const auto not_counted = [&] {
    script.notes.push_back(
        fmt::format("{}: {} is not counted here", place, text_of(option, value)));
  };
  switch (option.meaning) {
    case Meaning::kCounts:
      (option.size != nullptr ? script.job.size.*option.size : script.job.*option.job) = value;
      break;
    case Meaning::kExclusive:
      if (value != nullptr) return not_counted();
      script.job.size.exclusive = true;
      break;
    case Meaning::kUncounted:
      return not_counted();
    case Meaning::kHarmless:
      break;
  }
}

/// The options before the first word that is none, read by getopt as sbatch does; how many words they
/// are.
Result<std::size_t> read_options(std::vector<std::string> words, const std::string& place,
                                 ScriptOptions& script) {
  std::string letters = "+:";
  std::vector<option> longs;
  for (const Known& known : kOptions) {
    longs.push_back({known.name, known.has_arg, nullptr, 0});
    if (known.letter == 0) continue;
    letters += known.letter;
    letters += std::string(static_cast<std::size_t>(known.has_arg), ':');
  }
  longs.push_back({nullptr, 0, nullptr, 0});
  std::string program = "sbatch";
  std::vector<char*> argv{program.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(argv.size()) - 1;
  optind = 0;
  opterr = 0;
  for (int index = 0;;) {
    const int found = getopt_long(argc, argv.data(), letters.c_str(), longs.data(), &index);
    if (found == -1) break;
    const std::string word = argv[static_cast<std::size_t>(std::max(optind - 1, 1))];
    if (found == ':') return fail(fmt::format("{}: {} needs a value", place, word));
    if (found == '?') {
      script.notes.push_back(fmt::format("{}: {} is not known here and not counted", place, word));
      continue;
    }
    const Known* known =
        found == 0 ? &kOptions[index]
                   : std::find_if(std::begin(kOptions), std::end(kOptions),
                                  [found](const Known& one) { return one.letter == found; });
    take(*known, optarg, place, script);
  }
  return static_cast<std::size_t>(std::max(optind, 1) - 1);
}

/// One line of a script, which has nothing but options.
Result<void> read_line(const std::vector<std::string>& words, const std::string& place,
                       ScriptOptions& script) {
  const auto options = read_options(words, place, script);
  if (!options) return tl::make_unexpected(options.error());
  if (*options < words.size())
    return fail(fmt::format("{}: \"{}\" is no option", place, words[*options]));
  return {};
}

bool is_command(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first != line.npos && line[first] != '#';
}

}  // namespace

Result<ScriptOptions> script_options_of(const std::string& name, std::string_view text) {
  constexpr std::string_view kMagic = "#SBATCH";
  if (!text.starts_with("#!"))
    return fail(fmt::format("{}: not a batch script: its first line does not begin with #!", name));
  ScriptOptions script;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string place = fmt::format("{}:{}", name, number);
    if (is_command(line)) break;
    if (!line.starts_with(kMagic)) continue;
    line.remove_prefix(kMagic.size());
    auto words = words_of(line);
    if (!words) return fail(fmt::format("{}: a quote is not closed", place));
    if (!words->empty() && (words->front() == "hetjob" || words->front() == "packjob"))
      return fail(
          fmt::format("{}: of a heterogeneous job ask for each component alone; sbatch --budget "
                      "submits it as a whole",
                      place));
    if (auto read = read_line(*words, place, script); !read)
      return tl::make_unexpected(read.error());
  }
  return script;
}

Result<SbatchLine> sbatch_line_of(const std::string& place, std::vector<std::string> words) {
  SbatchLine line;
  const auto options = read_options(words, place, line.options);
  if (!options) return tl::make_unexpected(options.error());
  line.script = *options;
  line.words = std::move(words);
  return line;
}

Result<std::vector<std::string>> sbatch_words_of(const std::string& place, std::string_view text) {
  auto words = words_of(text);
  if (!words) return fail(fmt::format("{}: a quote is not closed", place));
  return std::move(*words);
}

Result<ScriptOptions> read_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestScript + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && file.gcount() == 0) return fail(fmt::format("{}: {}", path, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestScript) return fail(fmt::format("{}: larger than 4 MB", path));
  return script_options_of(path, text);
}

void add_script(const ScriptOptions& script, QuoteArguments& typed) {
  const auto take_missing = [](std::string& typed_one, const std::string& written) {
    if (typed_one.empty()) typed_one = written;
  };
  SizeArguments& size = typed.size;
  const bool names_memory =
      !size.mem.empty() || !size.mem_per_cpu.empty() || !size.mem_per_gpu.empty();
  const bool names_worth = !typed.budget.empty() || !typed.value.empty() || !typed.work.empty();
  for (const Known& known : kOptions) {
    const std::string_view name = known.name;
    if (names_memory && name.starts_with("mem")) continue;  // one of the three
    const bool is_worth = name == "budget" || name == "value" || name == "work";
    if (names_worth && is_worth) continue;
    if (known.size != nullptr) take_missing(size.*known.size, script.job.size.*known.size);
    if (known.job != nullptr) take_missing(typed.*known.job, script.job.*known.job);
  }
  size.exclusive = size.exclusive || script.job.size.exclusive;
}

}  // namespace market::smarket

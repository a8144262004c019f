// SPDX-License-Identifier: GPL-2.0-or-later
// The #SBATCH lines of a batch script, as far as they bear on what a job costs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contrib/smarket/verbs.h"

namespace market::smarket {

struct ScriptOptions {
  QuoteArguments job;
  std::vector<std::string> notes;  ///< lines on what is not counted: "run.sh:5: --array=1-9: …"
};

/// Reads the #SBATCH lines of the script's text as sbatch does: before its first command, with
/// quotes and comments. Of an option that comes twice the last one counts. Options that bear on
/// neither size, time nor price are passed over; others that smarket cannot count are in `notes`.
/// Fails with "NAME:LINE: …" on what sbatch would refuse too, and on heterogeneous jobs.
Result<ScriptOptions> script_options_of(const std::string& name, std::string_view text);

/// The same of a file.
Result<ScriptOptions> read_script(const std::string& path);

/// What would be typed after "sbatch".
struct SbatchLine {
  ScriptOptions options;
  std::vector<std::string> words;
  std::size_t script = 0;  ///< which of them is the script; as many as there are: none
};

/// Parts the words into options and the script with its arguments. Fails with "PLACE: …".
Result<SbatchLine> sbatch_line_of(const std::string& place, std::vector<std::string> words);
/// The words of a line as sbatch parts those of a script. Fails with "PLACE: …".
Result<std::vector<std::string>> sbatch_words_of(const std::string& place, std::string_view text);

/// What was typed, and of the script what was not: the command line and its variables go first.
void add_script(const ScriptOptions& script, QuoteArguments& typed);

}  // namespace market::smarket

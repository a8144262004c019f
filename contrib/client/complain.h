// SPDX-License-Identifier: GPL-2.0-or-later
// How a command tells that it failed.
#pragma once

#include <string_view>

#include "core/util/result.h"

namespace market::client {

/// Who complains from now on, and whether as JSON too: when "--json" is among the words of the
/// command line, wherever it is wrong.
void speak_for(std::string_view program, int count, char** arguments);

/// A report in JSON went out: what is complained of now stands on stderr alone, so that stdout holds
/// one document.
void have_reported();

/// One line "PROGRAM: error: …" on stderr, and with --json {"errors":[…]} on stdout; returns `code`.
int complain(const Error& error, int code);

}  // namespace market::client

// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/message.h"

#include "plugin/compat/slurm_api.h"

void message_add(char** message, const char* text) {
  bool follows = *message && (*message)[0];

  if (!text || !text[0]) return;
  xstrfmtcat(*message, "%s%s", follows ? "\n" : "", text);
}

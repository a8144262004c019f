// SPDX-License-Identifier: GPL-2.0-or-later
// The same texts through Slurm's own parsers, which libslurm exports without declaring them.
// Whatever both accept must be the same instant; what Slurm accepts is refused by us only where the
// comments of this file say so.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "core/util/slurm_time.h"

extern "C" {
time_t slurm_parse_time(const char* text, int past);
int slurm_time_str2secs(const char* text);
}

namespace market {
namespace {

constexpr int kSlurmNoVal = -2;
constexpr int kSlurmInfinite = -1;

/// Slurm's answer, and the second at which it was given: Slurm reads the clock itself.
struct SlurmAnswer {
  std::int64_t time = 0;
  std::int64_t now = 0;
};

SlurmAnswer ask_slurm(const std::string& text) {
  for (;;) {
    const std::time_t before = std::time(nullptr);
    const std::time_t answer = slurm_parse_time(text.c_str(), 0);
    if (std::time(nullptr) == before) return {answer, before};
  }
}

void expect_same_time(const std::string& text) {
  const SlurmAnswer slurm = ask_slurm(text);
  EXPECT_EQ(parse_time(text, slurm.now).value_or(0), slurm.time) << text;
}

class SlurmOracle : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("TZ", GetParam(), 1);
    tzset();
  }
};

TEST_P(SlurmOracle, EveryMinuteOfADay) {
  for (int minute = 0; minute < 1440; ++minute) {
    char text[16];
    snprintf(text, sizeof text, "%02d:%02d", minute / 60, minute % 60);
    expect_same_time(text);
  }
}

TEST_P(SlurmOracle, EveryQuarterHourAroundTheClockChanges) {
  for (const char* day :
       {"2026-03-28", "2026-03-29", "2026-03-30", "2026-10-24", "2026-10-25", "2026-10-26",
        "2027-03-28", "2027-10-31", "2026-04-05", "2026-10-04", "2026-03-08", "2026-11-01"}) {
    for (int quarter = 0; quarter < 96; ++quarter) {
      char text[32];
      snprintf(text, sizeof text, "%sT%02d:%02d:07", day, quarter / 4, quarter % 4 * 15);
      expect_same_time(text);
    }
  }
}

TEST_P(SlurmOracle, Words) {
  for (const char* text : {"today",
                           "tomorrow",
                           "midnight",
                           "noon",
                           "fika",
                           "teatime",
                           "now",
                           "TOMORROW",
                           "Noon tomorrow",
                           "tomorrow 02:00",
                           "today 23:59",
                           "now+1",
                           "now + 90 minutes",
                           "now+2hours",
                           "now+3days",
                           "now+1week",
                           "now+4weeks",
                           "now-1hour",
                           "now+1day 12:00",
                           "6:00pm",
                           "6:00 AM",
                           "12:00pm",
                           "12:00AM",
                           "13:00am",
                           "13:00pm",
                           "1:30:15 pm",
                           "0130",
                           "013026",
                           "01/30",
                           "01/30/28",
                           "01.30.28",
                           "01/30-12:30",
                           "12/31-23:59:59",
                           "2/9",
                           "02/31",
                           "2026-12-01",
                           "2026-1-01",
                           "2028-02-29T00:00",
                           "uts1800000000",
                           "UTS1800000000",
                           "uts12",
                           "utsx",
                           "",
                           "-",
                           "T",
                           "12",
                           "123",
                           "24:00",
                           "12:60",
                           "noonish",
                           "now+",
                           "now+x",
                           "now+1fortnight",
                           "1:2:3",
                           "99/99",
                           "today today",
                           "12:30 01/15",
                           "01/15 12:30"}) {
    expect_same_time(text);
  }
}

RC_GTEST_PROP(SlurmOracleProperty, RandomTimes, ()) {
  static const std::vector<std::string> pieces = {
      "today", "tomorrow", "noon", "0", "1", "2",  "9",  "12",         "31",    ":", ":00",
      ":30",   "/",        "-",    "T", " ", "am", "pm", "2027-06-15", "06/15", "x", "."};
  const auto chosen = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces));
  std::string text;
  for (const std::string& piece : chosen) text += piece;
  const SlurmAnswer slurm = ask_slurm(text);
  // Slurm takes any character for the dash after a one-digit month, and years before 1970.
  const auto ours = parse_time(text, slurm.now);
  if (ours || slurm.time > 0) RC_ASSERT(ours.value_or(0) == slurm.time);
}

std::size_t longest_number(const std::string& text) {
  std::size_t longest = 0, digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    longest = std::max(longest, digits);
  }
  return longest;
}

RC_GTEST_PROP(SlurmOracleProperty, RandomDurations, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789:--:")));
  const bool leading_dash = !text.empty() && text[0] == '-';  // Slurm: negative days
  if (leading_dash || longest_number(text) > 4) return;       // longer numbers overflow Slurm's int
  const int slurm = slurm_time_str2secs(text.c_str());
  const auto ours = parse_duration(text);
  if (slurm == kSlurmNoVal || slurm == kSlurmInfinite) {
    RC_ASSERT(!ours);
  } else {
    RC_ASSERT(ours.value_or(-1) == slurm);
  }
}

TEST(SlurmOracleDurations, Forms) {
  for (const char* text :
       {"0",       "1",          "90",        "2:30",  "1:02:03", "1-0",      "1-",        "1-12",
        "1-12:30", "1-12:30:15", "100:00:00", "90:90", "",        ":",        "1:",        ":1",
        "1::1",    "1:2:3:4",    "1-2-3",     "1h",    " 1",      "INFINITE", "unlimited", "-1"}) {
    const int slurm = slurm_time_str2secs(text);
    const bool refused = slurm == kSlurmNoVal || slurm == kSlurmInfinite;
    EXPECT_EQ(parse_duration(text).value_or(-1), refused ? -1 : slurm) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Zones, SlurmOracle,
                         ::testing::Values("Europe/Berlin", "UTC", "America/New_York",
                                           "Australia/Lord_Howe"),
                         [](const auto& zone) {
                           std::string name = zone.param;
                           for (char& c : name) c = c == '/' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace market

// SPDX-License-Identifier: GPL-2.0-or-later
// Times and durations against values worked out by hand.
#include "core/util/slurm_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <limits>

namespace market {
namespace {

class SlurmTime : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "Europe/Berlin", 1);
    tzset();
  }
  // 2026-11-27 14:05:00 in Berlin (UTC+1) is 13:05:00 UTC.
  static constexpr std::int64_t kNow = 1795784700;
  static constexpr std::int64_t kMidnight = kNow - (14 * 3600 + 5 * 60);

  static std::int64_t time_of(std::string_view text) { return parse_time(text, kNow).value_or(-1); }
  static std::int64_t seconds_of(std::string_view text) {
    return parse_duration(text).value_or(-1);
  }
};

TEST_F(SlurmTime, DurationForms) {
  EXPECT_EQ(seconds_of("90"), 5400);
  EXPECT_EQ(seconds_of("2:30"), 150);
  EXPECT_EQ(seconds_of("2:00:00"), 7200);
  EXPECT_EQ(seconds_of("1-12"), 129600);
  EXPECT_EQ(seconds_of("1-12:30"), 131400);
  EXPECT_EQ(seconds_of("7-0:0:1"), 604801);
  EXPECT_EQ(seconds_of("0"), 0);
  EXPECT_EQ(seconds_of("90:90"), 5490);
  EXPECT_EQ(seconds_of("1-"), 86400);
}

TEST_F(SlurmTime, DurationRefusals) {
  for (const char* text : {"",        ":",     "-",        "1:",    ":1",  "1::2",
                           "1:2:3:4", "1-2-3", "1-2:",     "1:2-3", "2h",  " 5",
                           "5 ",      "-5",    "+5",       "1.5",   "nan", "99999999999999999999",
                           "30000-0", "\xff",  "1-1:1:1:1"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST_F(SlurmTime, EndlessDurationsAreRefusedByName) {
  for (const char* text : {"INFINITE", "unlimited", "-1"}) {
    const auto seconds = parse_duration(text);
    ASSERT_FALSE(seconds) << text;
    EXPECT_NE(seconds.error().text.find("without end"), std::string::npos);
  }
}

TEST_F(SlurmTime, TimesOfDay) {
  EXPECT_EQ(time_of("18:00"), kMidnight + 18 * 3600);
  EXPECT_EQ(time_of("6pm"), -1);
  EXPECT_EQ(time_of("6:00pm"), kMidnight + 18 * 3600);
  EXPECT_EQ(time_of("6:00 PM"), kMidnight + 18 * 3600);
  EXPECT_EQ(time_of("12:00am"), kMidnight + 86400);
  EXPECT_EQ(time_of("14:05"), kMidnight + 86400 + 14 * 3600 + 300);
  EXPECT_EQ(time_of("14:06:07"), kMidnight + 14 * 3600 + 367);
  EXPECT_EQ(time_of("9:30"), kMidnight + 86400 + 9 * 3600 + 1800);
  EXPECT_EQ(time_of("noon"), kMidnight + 86400 + 12 * 3600);
  EXPECT_EQ(time_of("teatime"), kMidnight + 16 * 3600);
  EXPECT_EQ(time_of("fika"), kMidnight + 15 * 3600);
  EXPECT_EQ(time_of("midnight"), kMidnight + 86400);
}

TEST_F(SlurmTime, Dates) {
  EXPECT_EQ(time_of("today"), kMidnight);
  EXPECT_EQ(time_of("tomorrow"), kMidnight + 86400);
  EXPECT_EQ(time_of("tomorrow 02:00"), kMidnight + 86400 + 7200);
  EXPECT_EQ(time_of("2026-11-30T07:30"), kMidnight + 3 * 86400 + 7 * 3600 + 1800);
  EXPECT_EQ(time_of("2026-11-30T07:30:15"), kMidnight + 3 * 86400 + 7 * 3600 + 1815);
  EXPECT_EQ(time_of("2026-11-30"), kMidnight + 3 * 86400);
  EXPECT_EQ(time_of("11/30"), kMidnight + 3 * 86400);
  EXPECT_EQ(time_of("113026"), kMidnight + 3 * 86400);
  EXPECT_EQ(time_of("11.30.26"), kMidnight + 3 * 86400);
  EXPECT_EQ(time_of("11/30-07:30"), kMidnight + 3 * 86400 + 7 * 3600 + 1800);
  EXPECT_EQ(time_of("11/01"), kMidnight + 339 * 86400);  // it has passed: next year's
}

TEST_F(SlurmTime, RelativeTimes) {
  EXPECT_EQ(time_of("now"), kNow);
  EXPECT_EQ(time_of("now+90"), kNow + 90);
  EXPECT_EQ(time_of("now+2hours"), kNow + 7200);
  EXPECT_EQ(time_of("NOW + 1 week"), kNow + 7 * 86400);
  EXPECT_EQ(time_of("now-5minutes"), kNow - 300);
  EXPECT_EQ(time_of("uts1795784700"), kNow);
}

TEST_F(SlurmTime, TimeRefusals) {
  for (const char* text : {"",
                           " ",
                           "25:00",
                           "12:60",
                           "12:00:60",
                           "1:2",
                           "13:00pm",
                           "13/01",
                           "02/32",
                           "now+",
                           "now+hours",
                           "now+5fortnights",
                           "now*2",
                           "yesterday",
                           "uts5",
                           "uts",
                           "uts99999999999999999999",
                           "99",
                           "\xff\xfe",
                           "now+99999999999999",
                           "2026-13-01",
                           "18:00\n19:00"}) {
    EXPECT_FALSE(parse_time(text, kNow)) << text;
  }
}

TEST_F(SlurmTime, BothClockChangesOfBerlin) {
  // 2026-03-29 02:00 CET becomes 03:00 CEST; 2026-10-25 03:00 CEST becomes 02:00 CET.
  const std::int64_t before_spring = 1774735200;  // 2026-03-28T22:00:00Z, 23:00 in Berlin
  // Slurm's tomorrow is the day it is 24 hours from now, which in this one hour is the day after.
  EXPECT_EQ(parse_time("03:00", before_spring).value(), before_spring + 27 * 3600);
  EXPECT_EQ(parse_time("03:00", before_spring + 3600).value(), before_spring + 3 * 3600);
  EXPECT_EQ(parse_time("2026-03-29T12:00", before_spring).value(), before_spring + 12 * 3600);
  EXPECT_EQ(parse_time("now+1day", before_spring).value(), before_spring + 86400);
  const std::int64_t before_autumn = 1792875600;  // 2026-10-24T21:00:00Z, 23:00 in Berlin
  EXPECT_EQ(parse_time("03:00", before_autumn).value(), before_autumn + 5 * 3600);
  EXPECT_EQ(parse_time("2026-10-25T12:00", before_autumn).value(), before_autumn + 14 * 3600);
  EXPECT_EQ(format_time(before_autumn + 4 * 3600), "2026-10-25T02:00:00");
  EXPECT_EQ(format_time(before_autumn + 3 * 3600), "2026-10-25T02:00:00");
  EXPECT_EQ(format_time_short(before_spring + 3 * 3600, before_spring), "tomorrow 03:00");
  EXPECT_EQ(format_time_short(before_autumn + 24 * 3600, before_autumn), "tomorrow 22:00");
}

TEST_F(SlurmTime, Printing) {
  EXPECT_EQ(format_duration(0), "00:00:00");
  EXPECT_EQ(format_duration(6730), "01:52:10");
  EXPECT_EQ(format_duration(86400 * 3 + 5), "3-00:00:05");
  EXPECT_EQ(format_duration(-61), "-00:01:01");
  EXPECT_EQ(format_time(kNow), "2026-11-27T14:05:00");
  EXPECT_EQ(format_time_short(kNow + 95 * 60, kNow), "15:40");
  EXPECT_EQ(format_time_short(kNow + 95 * 60 + 7, kNow), "15:40:07");
  EXPECT_EQ(format_time_short(kMidnight + 86400 + 7200, kNow), "tomorrow 02:00");
  EXPECT_EQ(format_time_short(kMidnight + 3 * 86400 + 7 * 3600 + 1800, kNow), "2026-11-30T07:30");
}

}  // namespace
}  // namespace market

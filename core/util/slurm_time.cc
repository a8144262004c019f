// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/slurm_time.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <ctime>
#include <limits>
#include <utility>

#include "core/util/clean_text.h"
#include "core/util/units.h"

namespace market {
namespace {

constexpr std::int64_t kWeek = 7 * kDay;
/// Slurm keeps durations in an int.
constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kEarliestUts = 1'000'000;
constexpr std::int64_t kFarthestDelta = 100 * 366 * kDay;

constexpr const char* kDurationAllowed =
    "minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S, such as 90, 2:00:00 or 1-12";
constexpr const char* kTimeAllowed =
    "a time such as 18:00, 2026-11-30T07:30, 11/30, tomorrow, noon or now+2hours";

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool same_letters(std::string_view text, std::string_view lower_case) {
  if (text.size() < lower_case.size()) return false;
  for (std::size_t i = 0; i < lower_case.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(text[i])) != lower_case[i]) return false;
  }
  return true;
}

struct DurationFields {
  std::array<std::int64_t, 4> value{};
  int count = 0;
  bool days = false;  ///< the first field is followed by a dash
};

/// Splits "D-H:M:S" and its shorter forms; nothing when a field is missing or too large. Slurm
/// reads "D-" as D days.
bool split_duration(std::string_view text, DurationFields& fields) {
  bool digits = false;
  std::int64_t value = 0;
  const auto close_field = [&] {
    if (!digits || fields.count == 4) return false;
    fields.value[static_cast<std::size_t>(fields.count++)] = value;
    digits = false;
    value = 0;
    return true;
  };
  for (const char c : text) {
    if (is_digit(c)) {
      value = value * 10 + (c - '0');
      digits = true;
      if (value > kLongest) return false;
    } else if (c == '-' && fields.count == 0) {
      if (!close_field()) return false;
      fields.days = true;
    } else if (c == ':') {
      if (!close_field()) return false;
    } else {
      return false;
    }
  }
  const bool days_alone = fields.days && fields.count == 1 && text.back() == '-';
  return days_alone || close_field();
}

constexpr int kNotGiven = -1;

struct Calendar {
  int hour = kNotGiven, minute = kNotGiven, second = 0;
  int month = kNotGiven, day = kNotGiven, year = kNotGiven;  ///< as in struct tm
};

std::tm local(std::int64_t time) {
  const std::time_t seconds = static_cast<std::time_t>(time);
  std::tm broken{};
  localtime_r(&seconds, &broken);
  return broken;
}

/// Reads a time as Slurm does: pieces in any order, blanks, '-' and 'T' between them ignored, the
/// last one wins.
class TimeReader {
 public:
  TimeReader(std::string_view text, std::int64_t now) : text_(text), now_(now) {}

  Result<std::int64_t> read() {
    if (text_.find_first_of("\n\v\f\r") != text_.npos) return fail(kTimeAllowed);
    while (position_ < text_.size()) {
      const char c = at(0);
      if (is_blank(c) || c == '-' || c == 'T') {
        ++position_;
      } else if (!read_word() && !read_number()) {
        return fail(kTimeAllowed);
      }
    }
    return finish();
  }

 private:
  char at(std::size_t ahead) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  std::string_view rest() const { return text_.substr(position_); }

  void set_date(std::int64_t time) {
    const std::tm date = local(time);
    calendar_.month = date.tm_mon;
    calendar_.day = date.tm_mday;
    calendar_.year = date.tm_year;
  }
  void set_time_of_day(int hour, int minute, int second) {
    calendar_.hour = hour;
    calendar_.minute = minute;
    calendar_.second = second;
  }

  bool take(std::string_view word) {
    if (!same_letters(rest(), word)) return false;
    position_ += word.size();
    return true;
  }

  bool read_word() {
    if (take("today")) {
      set_date(now_);
    } else if (take("tomorrow")) {
      set_date(now_ + kDay);
    } else if (take("midnight")) {
      set_time_of_day(0, 0, 0);
    } else if (take("noon")) {
      set_time_of_day(12, 0, 0);
    } else if (take("fika")) {
      set_time_of_day(15, 0, 0);
    } else if (take("teatime")) {
      set_time_of_day(16, 0, 0);
    } else if (take("now")) {
      return read_delta();
    } else {
      return false;
    }
    return true;
  }

  /// What follows "now": nothing, or a sign, a count (blanks may split it) and a unit.
  bool read_delta() {
    while (is_blank(at(0))) ++position_;
    std::int64_t delta = 0;
    if (position_ < text_.size()) {
      const char sign = at(0);
      if (sign != '+' && sign != '-') return false;
      ++position_;
      if (!read_count(delta)) return false;
      if (sign == '-') delta = -delta;
    }
    const std::tm when = local(now_ + delta);
    set_date(now_ + delta);
    set_time_of_day(when.tm_hour, when.tm_min, when.tm_sec);
    return true;
  }

  bool read_count(std::int64_t& count) {
    bool digits = false;
    for (; position_ < text_.size(); ++position_) {
      if (is_blank(at(0))) continue;
      if (is_digit(at(0))) {
        count = count * 10 + (at(0) - '0');
        digits = true;
        if (count > kFarthestDelta) return false;
        continue;
      }
      const std::int64_t unit = read_unit();
      if (unit == 0) return false;
      count *= unit;
      break;
    }
    return digits && count <= kFarthestDelta;
  }

  std::int64_t read_unit() {
    if (take("seconds") || take("second")) return 1;
    if (take("minutes") || take("minute")) return kMinute;
    if (take("hours") || take("hour")) return kHour;
    if (take("days") || take("day")) return kDay;
    if (take("weeks") || take("week")) return kWeek;
    return 0;
  }

  bool read_number() {
    if (!is_digit(at(0))) return false;
    return at(1) == ':' || at(2) == ':' ? read_time_of_day() : read_date();
  }

  /// Exactly two digits, at most `most`.
  bool read_two_digits(int& value, int most) {
    if (!is_digit(at(0)) || !is_digit(at(1))) return false;
    value = (at(0) - '0') * 10 + (at(1) - '0');
    position_ += 2;
    return value <= most;
  }

  /// One or two digits in [least, most].
  bool read_up_to_two_digits(int& value, int least, int most) {
    if (!is_digit(at(0))) return false;
    value = at(0) - '0';
    ++position_;
    if (is_digit(at(0))) {
      value = value * 10 + (at(0) - '0');
      ++position_;
    }
    return value >= least && value <= most;
  }

  bool read_time_of_day() {
    int hour = 0, minute = 0, second = 0;
    if (!read_up_to_two_digits(hour, 0, 23) || at(0) != ':') return false;
    ++position_;
    if (!read_two_digits(minute, 59)) return false;
    if (at(0) == ':') {
      ++position_;
      if (!read_two_digits(second, 59)) return false;
    }
    while (is_blank(at(0))) ++position_;
    if (take("pm")) {
      if (hour > 12) return false;
      hour = hour == 12 ? 12 : hour + 12;
    } else if (take("am")) {
      if (hour > 12) return false;
      hour = hour == 12 ? 0 : hour;
    }
    set_time_of_day(hour, minute, second);
    return true;
  }

  bool read_date() {
    return at(4) == '-' && at(7) == '-' ? read_year_month_day() : read_month_day_year();
  }

  bool read_year_month_day() {
    int century = 0, year = 0, month = 0, day = 0;
    if (!read_two_digits(century, 99) || !read_two_digits(year, 99)) return false;
    ++position_;
    if (!read_up_to_two_digits(month, 1, 12) || at(0) != '-') return false;
    ++position_;
    if (!read_up_to_two_digits(day, 1, 31)) return false;
    calendar_.month = month - 1;
    calendar_.day = day;
    calendar_.year = century * 100 + year - 1900;
    return true;
  }

  bool read_month_day_year() {
    int month = 0, day = 0, year = 0;
    if (!read_up_to_two_digits(month, 1, 12)) return false;
    if (at(0) == '.' || at(0) == '/') ++position_;
    if (!read_up_to_two_digits(day, 1, 31)) return false;
    if (at(0) == '.' || at(0) == '/') ++position_;
    if (is_digit(at(0)) && !read_two_digits(year, 99)) return false;
    calendar_.month = month - 1;
    calendar_.day = day;
    if (year != 0) calendar_.year = year + 100;
    return true;
  }

  /// Fills in what was not said: midnight for a date; today, else tomorrow, for a time; this year,
  /// else the next.
  Result<std::int64_t> finish() {
    if (calendar_.hour == kNotGiven && calendar_.month == kNotGiven) return fail(kTimeAllowed);
    const std::tm now = local(now_);
    if (calendar_.hour == kNotGiven) {
      set_time_of_day(0, 0, calendar_.second);
    } else if (calendar_.month == kNotGiven) {
      const bool still_today =
          std::pair(calendar_.hour, calendar_.minute) > std::pair(now.tm_hour, now.tm_min);
      set_date(still_today ? now_ : now_ + kDay);
    }
    if (calendar_.year == kNotGiven) {
      const std::array<int, 4> asked{calendar_.month, calendar_.day, calendar_.hour,
                                     calendar_.minute};
      const std::array<int, 4> present{now.tm_mon, now.tm_mday, now.tm_hour, now.tm_min};
      calendar_.year = now.tm_year + (asked > present ? 0 : 1);
    }
    std::tm when{};
    when.tm_sec = calendar_.second;
    when.tm_min = calendar_.minute;
    when.tm_hour = calendar_.hour;
    when.tm_mday = calendar_.day;
    when.tm_mon = calendar_.month;
    when.tm_year = calendar_.year;
    when.tm_isdst = -1;
    const std::time_t time = std::mktime(&when);
    if (time <= 0) return fail(kTimeAllowed);
    return static_cast<std::int64_t>(time);
  }

  std::string_view text_;
  std::int64_t now_;
  std::size_t position_ = 0;
  Calendar calendar_;
};

Result<std::int64_t> parse_uts(std::string_view digits) {
  std::int64_t seconds = 0;
  for (const char c : digits) {
    if (!is_digit(c)) return fail(kTimeAllowed);
    seconds = seconds * 10 + (c - '0');
    if (seconds > 100 * kLongest) return fail(kTimeAllowed);
  }
  if (seconds < kEarliestUts) return fail(kTimeAllowed);
  return seconds;
}

}  // namespace

Result<std::int64_t> parse_duration(std::string_view text) {
  for (const std::string_view word : {"infinite", "unlimited", "-1"}) {
    if (text.size() == word.size() && same_letters(text, word)) {
      return fail("a duration without end cannot be used here; " + std::string(kDurationAllowed));
    }
  }
  DurationFields fields;
  if (text.empty() || !split_duration(text, fields)) return fail(kDurationAllowed);
  const auto& value = fields.value;
  std::int64_t seconds = 0;
  if (fields.days) {
    seconds = value[0] * kDay + value[1] * kHour + value[2] * kMinute + value[3];
  } else if (fields.count == 3) {
    seconds = value[0] * kHour + value[1] * kMinute + value[2];
  } else if (fields.count <= 2) {
    seconds = value[0] * kMinute + value[1];
  } else {
    return fail(kDurationAllowed);
  }
  if (seconds > kLongest) return fail("at most 24855 days");
  return seconds;
}

Result<std::int64_t> parse_time(std::string_view text, std::int64_t now) {
  if (same_letters(text, "uts")) return parse_uts(text.substr(3));
  return TimeReader(text, now).read();
}

std::string format_duration(std::int64_t seconds) {
  const std::int64_t magnitude = seconds < 0 ? -seconds : seconds;
  const std::string clock = fmt::format("{:02}:{:02}:{:02}", magnitude % kDay / kHour,
                                        magnitude % kHour / kMinute, magnitude % kMinute);
  const std::int64_t days = magnitude / kDay;
  return fmt::format("{}{}{}", seconds < 0 ? "-" : "", days > 0 ? fmt::format("{}-", days) : "",
                     clock);
}

std::string format_time(std::int64_t time) {
  const std::tm when = local(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", when.tm_year + 1900, when.tm_mon + 1,
                     when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec);
}

std::string format_time_with_offset(std::int64_t time) {
  const long offset = local(time).tm_gmtoff / 60;
  return fmt::format("{}{}{:02}:{:02}", format_time(time), offset < 0 ? '-' : '+',
                     std::abs(offset) / 60, std::abs(offset) % 60);
}

std::string format_time_short(std::int64_t time, std::int64_t now) {
  constexpr std::int64_t kNoon = 12;
  const std::tm when = local(time);
  const auto same_day = [&when](const std::tm& day) {
    return day.tm_year == when.tm_year && day.tm_yday == when.tm_yday;
  };
  const std::tm today = local(now);
  // Whatever is done to the clock in between, by an hour or two. mktime() would look for another time zone first.
  const std::int64_t since_noon =
      (today.tm_hour - kNoon) * kHour + today.tm_min * 60 + today.tm_sec;
  const std::tm noon_tomorrow = local(now - since_noon + 24 * kHour);
  std::string clock = fmt::format("{:02}:{:02}", when.tm_hour, when.tm_min);
  if (when.tm_sec != 0) clock += fmt::format(":{:02}", when.tm_sec);
  if (same_day(today)) return clock;
  if (same_day(noon_tomorrow)) return "tomorrow " + clock;
  return fmt::format("{:04}-{:02}-{:02}T{}", when.tm_year + 1900, when.tm_mon + 1, when.tm_mday,
                     clock);
}

}  // namespace market

// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/desk/bill_talk.h"

#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/util/clean_text.h"

namespace market {
namespace {

using Json = nlohmann::ordered_json;
using ledger::RunsCursor;
using ledger::Segment;

/// JSON's strings are UTF-8; a text of other bytes goes as their numbers, so that it arrives as it
/// is.
Json text_json(const std::string& text) {
  if (is_clean_text(text)) return text;
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

std::string text_from(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  std::string text;
  for (const Json& byte : json) text += static_cast<char>(byte.get<unsigned char>());
  return text;
}

// One order for writing and reading: whatever `field` does to each field of a run.
template <class Run, class Field>
void each_field(Run& run, Field&& field) {
  field(run.key.cluster), field(run.key.job_id), field(run.key.submitted), field(run.key.restart);
  field(run.key.bid), field(run.array_job_id), field(run.array_task_id), field(run.uid);
  field(run.user), field(run.account), field(run.partition), field(run.state);
  field(run.mechanism), field(run.tres), field(run.note);
  field(run.planned_start), field(run.promised_end), field(run.start), field(run.end);
  field(run.suspended), field(run.elapsed), field(run.billing);
  field(run.quoted), field(run.charged), field(run.refunded), field(run.time_limit);
}

struct Writer {
  Json& row;
  void operator()(const std::string& text) { row.push_back(text_json(text)); }
  void operator()(Money money) { row.push_back(money.micro()); }
  template <class Number>
  void operator()(Number number) {
    row.push_back(number);
  }
};

struct Reader {
  const Json& row;
  std::size_t next = 1;
  void operator()(std::string& text) { text = text_from(row.at(next++)); }
  void operator()(Money& money) { money = Money::from_micro(row.at(next++).get<std::int64_t>()); }
  template <class Number>
  void operator()(Number& number) {
    number = row.at(next++).get<Number>();
  }
};

Json cursor_json(const RunsCursor& cursor) {
  return {cursor.over, cursor.end, cursor.row};
}

RunsCursor cursor_from(const Json& json) {
  return {json.at(0).get<bool>(), json.at(1).get<Time>(), json.at(2).get<std::int64_t>()};
}

template <class T>
void read_key(const Json& ask, const char* key, T& value) {
  if (const auto found = ask.find(key); found != ask.end()) value = found->template get<T>();
}

void read_key(const Json& ask, const char* key, std::optional<Time>& time) {
  if (const auto found = ask.find(key); found != ask.end()) time = found->get<Time>();
}

}  // namespace

Json question_of(const ledger::SegmentFilter& filter, const RunsCursor& after) {
  Json ask{{"verb", "bill"}, {"after", cursor_json(after)}};
  if (filter.since) ask["since"] = *filter.since;
  if (filter.until) ask["until"] = *filter.until;
  if (filter.open_too) ask["open"] = true;
  if (!filter.jobs.empty()) ask["jobs"] = filter.jobs;
  for (const auto& [key, names] :
       {std::pair{"accounts", &filter.accounts}, std::pair{"users", &filter.users},
        std::pair{"partitions", &filter.partitions}, std::pair{"mechanisms", &filter.mechanisms},
        std::pair{"states", &filter.states}}) {
    if (!names->empty()) ask[key] = *names;
  }
  return ask;
}

Result<ledger::RunsQuestion> read_question(const Json& ask) {
  ledger::RunsQuestion question;
  const char* key = "after";
  try {
    if (ask.contains(key)) question.after = cursor_from(ask.at(key));
    read_key(ask, key = "since", question.filter.since);
    read_key(ask, key = "until", question.filter.until);
    read_key(ask, key = "open", question.filter.open_too);
    read_key(ask, key = "jobs", question.filter.jobs);
    read_key(ask, key = "accounts", question.filter.accounts);
    read_key(ask, key = "users", question.filter.users);
    read_key(ask, key = "partitions", question.filter.partitions);
    read_key(ask, key = "mechanisms", question.filter.mechanisms);
    read_key(ask, key = "states", question.filter.states);
  } catch (const Json::exception&) {
    return fail(fmt::format("the question for a bill is not well formed: {}", key));
  }
  return question;
}

std::string answer_of(const ledger::RunsPage& page) {
  Json runs = Json::array();
  for (const ledger::NumberedRun& numbered : page.runs) {
    Json row = Json::array({numbered.row});
    each_field(numbered.run, Writer{row});
    runs.push_back(std::move(row));
  }
  Json answer{{"ok", true}, {"runs", std::move(runs)}};
  if (page.next) answer["next"] = cursor_json(*page.next);
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ledger::RunsPage> read_page(const Json& answer) {
  ledger::RunsPage page;
  try {
    for (const Json& row : answer.at("runs")) {
      ledger::NumberedRun numbered;
      numbered.row = row.at(0).get<std::int64_t>();
      each_field(numbered.run, Reader{row});
      page.runs.push_back(std::move(numbered));
    }
    if (answer.contains("next")) page.next = cursor_from(answer.at("next"));
  } catch (const Json::exception&) {
    return fail("the market's answer is not a bill: it and sbill are of different versions");
  }
  return page;
}

}  // namespace market

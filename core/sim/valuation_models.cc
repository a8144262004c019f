// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/valuation_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/market/malleable_texts.h"
#include "core/sim/line_reader.h"
#include "core/sim/sacct_fields.h"
#include "core/util/draws.h"
#include "core/words/sigmoid.h"

namespace market::sim {
namespace {

constexpr const char* kForms =
    "allowed are lognormal(M,S), exponential(MEAN), uniform(A,B), A..B, or a number";
constexpr double kLargest = 1e12;
constexpr double kLongest = 1e9;  // seconds between a submission and a deadline

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  if (!(std::fabs(number) <= kLargest)) return std::nullopt;
  return number;
}

/// The numbers between the brackets of "name(…)", or nothing when the text is no such call.
std::optional<std::vector<double>> arguments_of(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<double> numbers;
  for (std::size_t at = 0;;) {
    const std::size_t comma = text.find(',', at);
    const auto number = parse_number(text.substr(at, comma - at));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (comma == std::string_view::npos) return numbers;
    at = comma + 1;
  }
}

std::int64_t limit_of(const TraceJob& job) {
  return std::max<std::int64_t>(job.limit > 0 ? job.limit : job.run, 1);
}

Time seconds_of(double count, std::int64_t limit) {
  return std::llround(std::min(count * static_cast<double>(limit), kLongest));
}

}  // namespace

Result<Distribution> Distribution::parse(std::string_view text) {
  const auto refuse = [&] { return fail(fmt::format("\"{}\": {}", text, kForms)); };
  Distribution made;
  if (const auto number = parse_number(text)) {
    made.first_ = *number;
    if (*number < 0) return refuse();
    return made;
  }
  const std::size_t dots = text.find("..");
  auto range = arguments_of(text, "uniform");
  if (dots != std::string_view::npos) {
    const auto low = parse_number(text.substr(0, dots)), high = parse_number(text.substr(dots + 2));
    if (!low || !high) return refuse();
    range = std::vector<double>{*low, *high};
  }
  if (range) {
    if (range->size() != 2 || range->at(0) < 0 || range->at(1) < range->at(0)) return refuse();
    made.kind_ = Kind::kUniform;
    made.first_ = range->at(0);
    made.second_ = range->at(1);
    return made;
  }
  if (const auto mean = arguments_of(text, "exponential")) {
    if (mean->size() != 1 || mean->at(0) <= 0) return refuse();
    made.kind_ = Kind::kExponential;
    made.first_ = mean->at(0);
    return made;
  }
  const auto moments = arguments_of(text, "lognormal");
  if (!moments || moments->size() != 2 || moments->at(1) < 0 || std::fabs(moments->at(0)) > 20 ||
      moments->at(1) > 20)
    return refuse();
  made.kind_ = Kind::kLognormal;
  made.first_ = moments->at(0);
  made.second_ = moments->at(1);
  return made;
}

double Distribution::draw(SeededRandom& random) const {
  switch (kind_) {
    case Kind::kFixed:
      return first_;
    case Kind::kUniform:
      return random.uniform(first_, second_);
    case Kind::kExponential:
      return -first_ * std::log1p(-random.uniform());
    case Kind::kLognormal:
      return std::exp(first_ + second_ * random.normal());
  }
  return 0;
}

Result<ValuationModel::Fall> parse_fall(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return fail(fmt::format("\"{}\": write DROP:ZERO in time limits, such as 1..2:3..6", text));
  }
  const auto drop = Distribution::parse(text.substr(0, colon));
  if (!drop) return tl::unexpected(drop.error());
  const auto zero = Distribution::parse(text.substr(colon + 1));
  if (!zero) return tl::unexpected(zero.error());
  return ValuationModel::Fall{*drop, *zero};
}

std::vector<Valuation> value_jobs(const Workload& workload, const ValuationModel& model,
                                  std::string_view seed) {
  const Draws draws(seed);
  SeededRandom worths(draws.of("simulate worth")), slacks(draws.of("simulate slack")),
      drops(draws.of("simulate drop")), zeros(draws.of("simulate zero"));
  const Distribution value = model.value_per_hour.value_or(*Distribution::parse("0.5..1.5"));
  std::vector<Valuation> valuations;
  valuations.reserve(workload.jobs.size());
  for (const TraceJob& job : workload.jobs) {
    const std::int64_t limit = limit_of(job);
    Valuation made;
    const double hours = static_cast<double>(job.cores) * static_cast<double>(limit) / 3600;
    made.worth = Money::from_credits(std::min(value.draw(worths) * hours, kLargest)).value();
    if (model.sigmoid) {
      made.drop = seconds_of(model.sigmoid->drop.draw(drops), limit);
      made.zero = std::max(seconds_of(model.sigmoid->zero.draw(zeros), limit), made.drop + 1);
    } else if (model.slack) {
      made.deadline = job.eligible + std::max(seconds_of(model.slack->draw(slacks), limit), limit);
    }
    valuations.push_back(made);
  }
  return valuations;
}

namespace {

std::string parse_deadline(std::string_view text, Valuation& valuation) {
  const auto deadline = sacct::parse_time(text);
  if (!deadline) return "a deadline that cannot be read";
  valuation.deadline = *deadline;
  return "";
}

/// Seconds that the work takes at the smallest size, of which the job asks for what has no range.
double longest_of(const TraceJob& job, const Malleable& sizes) {
  double seconds = 0;
  for (const auto& [name, part] : sizes.parts) {
    const double asked = name == "cpu" ? job.cores : static_cast<double>(job.mem_node_mb);
    const double least = part.most > 0 ? static_cast<double>(part.least) : asked;
    seconds += least > 0 ? part.work / least : 0;
  }
  return std::min(seconds, kLongest);
}

/// "RATE;WORKLOAD;RANGE[;DEADLINE]"
std::string parse_rate_bid(std::string_view text, const TraceJob& job, Valuation& valuation) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at != text.npos;) {
    const std::size_t end = text.find(';', at);
    fields.push_back(text.substr(at, end - at));
    at = end == text.npos ? end : end + 1;
  }
  if (fields.size() < 3 || fields.size() > 4) return "not RATE;WORKLOAD;RANGE[;DEADLINE]";
  const auto rate = Money::parse(fields[0]);
  if (!rate || *rate <= Money()) return "a rate that cannot be read";
  double seconds = static_cast<double>(limit_of(job));
  if (!fields[1].empty() || !fields[2].empty()) {
    const auto sizes = parse_malleable(fields[1], fields[2]);
    if (!sizes) return "a workload or range that cannot be read";
    seconds = longest_of(job, *sizes);
  }
  const double most = rate->credits() * seconds / 3600;
  valuation.worth = Money::from_credits(std::min(most, kLargest)).value();
  valuation.by_rate = std::make_shared<const RateBid>(
      RateBid{*rate, std::string(fields[1]), std::string(fields[2])});
  return fields.size() < 4 || fields[3].empty() ? "" : parse_deadline(fields[3], valuation);
}

/// What is wrong with the line behind the job's name; "" when `valuation` is what it says.
std::string parse_valuation(std::string_view text, const TraceJob& job, Valuation& valuation) {
  const std::size_t comma = text.find(',');
  const std::string_view worth = text.substr(0, comma);
  valuation = {};
  if (text.find(';') != std::string_view::npos) return parse_rate_bid(text, job, valuation);
  if (worth.find(':') != std::string_view::npos) {
    const auto sigmoid = Sigmoid::parse(worth);
    if (!sigmoid || comma != std::string_view::npos) return "a value that cannot be read";
    valuation.worth = sigmoid->max;
    valuation.drop = sigmoid->drop;
    valuation.zero = sigmoid->zero;
    return "";
  }
  const auto budget = Money::parse(worth);
  if (!budget) return "a budget that cannot be read";
  valuation.worth = *budget;
  if (comma == std::string_view::npos || comma + 1 == text.size()) return "";
  return parse_deadline(text.substr(comma + 1), valuation);
}

}  // namespace

Result<void> read_valuations(const std::string& path, const Workload& workload,
                             std::vector<Valuation>& valuations, Faults& faults) {
  auto reader = LineReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) places[name_of(workload.jobs[i])] = i;
  while (const auto line = reader->next()) {
    if (line->empty() || line->front() == '#') continue;
    const std::size_t comma = line->find(',');
    const auto place = places.find(std::string(line->substr(0, comma)));
    const TraceJob job = place == places.end() ? TraceJob{} : workload.jobs[place->second];
    Valuation valuation;
    const std::string fault = comma == std::string_view::npos
                                  ? "no comma"
                                  : parse_valuation(line->substr(comma + 1), job, valuation);
    if (!fault.empty()) {
      faults.add(fault, reader->number());
    } else if (place == places.end()) {
      faults.add("a job that the log does not have", reader->number());
    } else {
      valuations[place->second] = valuation;
    }
  }
  if (!reader->error().empty()) return fail(reader->error());
  return {};
}

}  // namespace market::sim

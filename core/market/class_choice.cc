// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/class_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/market/admission.h"
#include "core/market/convert.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr double kFarthestDue = 1e9;  // seconds from a bid to its due time that sums can bear
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOptions{
    {{"hard_deadline", "--budget"}, {"sigmoid", "--value"}, {"recurrent", "--work"}}};

std::string_view option_of(std::string_view shape) {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(),
                                  [shape](const auto& entry) { return entry.first == shape; });
  return found == kOptions.end() ? std::string_view() : found->second;
}

bool is_open(const ContractClass& one, const Request& request) {
  return one.is_open_to(request.payer, request.partition, request.qos);
}

std::string names_of_open(const MarketSettings& settings, const Request& request) {
  std::string names;
  for (const ContractClass& one : settings.job_classes()) {
    if (is_open(one, request)) names += (names.empty() ? "" : ", ") + one.name;
  }
  return names.empty() ? "none" : names;
}

std::string whose(const Request& request) {
  return fmt::format("account {} in partition {}{}{}", printable(request.payer), request.partition,
                     request.qos.empty() ? "" : " with QOS ", printable(request.qos));
}

Result<const ContractClass*> named_class(const MarketSettings& settings, const Request& request,
                                         std::string_view named, std::string_view shape) {
  const ContractClass* found = settings.job_class(named);
  if (found == nullptr || !is_open(*found, request))
    return fail(fmt::format("--class={}: {}; open to {}: {}", printable(named),
                            found == nullptr ? "there is no such class" : "it is not open",
                            whose(request), names_of_open(settings, request)));
  if (!shape.empty() && found->shape != shape)
    return fail(fmt::format("--class={}: its bids are given with {}, not with {}", found->name,
                            option_of(found->shape), option_of(shape)));
  return found;
}

}  // namespace

std::string_view shape_of(const Worth& worth) {
  if (worth.work > 0) return "recurrent";
  if (worth.value) return "sigmoid";
  return worth.budget ? "hard_deadline" : "";
}

Result<const ContractClass*> class_for(const MarketSettings& settings, const Request& request,
                                       std::string_view named, std::string_view shape) {
  const std::vector<ContractClass>& classes = settings.job_classes();
  if (classes.empty()) {
    if (named.empty() && shape != "recurrent") return nullptr;
    return fail(fmt::format("{}: the market of partition {} has no classes of jobs",
                            named.empty() ? "--work" : "--class", request.partition));
  }
  if (!named.empty()) return named_class(settings, request, named, shape);
  const auto found = std::find_if(classes.begin(), classes.end(), [&](const ContractClass& one) {
    return is_open(one, request) && (shape.empty() || one.shape == shape);
  });
  if (found != classes.end()) return &*found;
  return fail(fmt::format("no class of jobs{}{} is open to {}; open: {} (smarket show classes)",
                          shape.empty() ? "" : " whose bids are given with ", option_of(shape),
                          whose(request), names_of_open(settings, request)));
}

std::string class_after_change(const MarketSettings& settings, const Request& request,
                               const Worth& worth) {
  const ContractClass* own = settings.job_class(request.job_class);
  if (own != nullptr && is_open(*own, request)) return request.job_class;
  const auto other = class_for(settings, request, "", shape_of(worth));
  return other && *other != nullptr ? (*other)->name : request.job_class.str();
}

// The grammar of credits: digits with at most six decimals.
Result<double> parse_work(std::string_view text) {
  const auto units = Money::parse(text);
  if (units && *units > Money()) return units->credits();
  return fail(fmt::format("--work={}: units of work above 0, such as 300 or 2.5, are allowed",
                          printable(text)));
}

Time due_by(const ContractClass& recurrent, double work, Time bid_made) {
  return bid_made +
         static_cast<Time>(std::ceil(std::min(work * recurrent.seconds_per_work, kFarthestDue)));
}

Worth worth_of_work(const ContractClass& recurrent, double work, double billing, Time duration) {
  Worth worth;
  worth.budget =
      money_of(recurrent.value * billing * static_cast<double>(duration) / kSecondsPerHour);
  worth.work = work;
  return worth;
}

// A recurrent job's work says what it is worth, and by when.
Result<void> Admission::settle_class(Draft& draft, const market_submission_t& submission,
                                     Time now) const {
  Request& request = draft.bid.request;
  const auto own = class_for(site_.exchange_of(request).settings, request,
                             or_empty(submission.job_class), shape_of(draft.bid.worth));
  if (!own) return tl::unexpected(own.error());
  if (*own == nullptr) return {};
  request.job_class = (*own)->name;
  const double work = draft.bid.worth.work;
  if (work == 0) return {};
  if (submission.deadline != 0) return fail("--work: its class says by when: leave out --deadline");
  draft.wanted_deadline = due_by(**own, work, now);
  draft.bid.worth = worth_of_work(**own, work, site_.billing_of(request), request.duration);
  draft.texts.budget = draft.bid.worth.budget->to_string();
  return check_window(request, submission.begin, draft.wanted_deadline, now);
}

}  // namespace market

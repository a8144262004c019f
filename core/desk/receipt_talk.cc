// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/desk/receipt_talk.h"

#include <fmt/format.h>

#include <utility>

#include "core/desk/request_talk.h"
#include "core/market/text.h"
#include "core/util/account_name.h"
#include "core/util/hex.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr std::size_t kLongestPlace = 128;

struct Destination {
  std::string cluster, place;
};

// "hpc2:main/ada"
Result<Destination> destination_of(const Site& site, const std::string& to) {
  const std::size_t colon = to.find(':'), slash = to.find('/');
  const bool has_parts = colon != to.npos && slash != to.npos && colon > 0 && slash > colon + 1 &&
                         slash + 1 < to.size() && to.rfind('/') == slash &&
                         to.size() <= kLongestPlace && printable(to) == to;
  if (!has_parts)
    return fail(fmt::format("TO {}: CLUSTER:HOST/USER, such as hpc2:main/ada", printable(to)));
  Destination found{lower_case(to.substr(0, colon)), lower_case(to.substr(colon + 1))};
  if (found.cluster == lower_case(site.cluster_name))
    return fail(fmt::format("TO {}: this is that cluster: smarket fund", printable(to)));
  if (!site.config.bank.trusts.contains(found.cluster))
    return fail(fmt::format("TO {}: bank.trusts in market.conf names no cluster {}", printable(to),
                            printable(found.cluster)));
  return found;
}

Json json_of(const tycoon::Receipt& receipt) {
  return Json{{"id", receipt.id},     {"from", receipt.from},
              {"to", receipt.to},     {"amount", receipt.amount.to_string()},
              {"time", receipt.time}, {"signature", hex_of(receipt.signature)}};
}

Json signed_receipt(const Site& site, const ledger::SendCredits& sent, Time now) {
  const auto key = tycoon::BankKey::from_seed(*site.config.bank.seed);
  if (!key) return failure(key.error().text);
  tycoon::Receipt receipt;
  receipt.id = sent.token;
  receipt.from = lower_case(site.cluster_name) + ":" + sent.account;
  receipt.to = sent.cluster + ":" + sent.place;
  receipt.amount = sent.amount;
  receipt.time = now;
  key->sign(receipt);
  return Json{{"ok", true}, {"receipt", json_of(receipt)}};
}

// What is sent, by whom and to whom; whether it is there, the books say.
Result<ledger::SendCredits> read_sent(const Site& site, const Admission& admission, const Json& ask,
                                      const market_submission_t& asker) {
  ledger::SendCredits sent;
  auto token = token_in(ask);
  if (!token) return tl::unexpected(token.error());
  sent.token = std::move(*token);
  sent.uid = asker.uid;
  sent.account = lower_case(text_of(ask, "account"));
  if (!is_account_name(sent.account) || !admission.coordinates(sent.account, asker))
    return fail(
        fmt::format("account {}: only its coordinators and operators may send its credits to "
                    "another cluster",
                    printable(sent.account)));
  if (!site.accounts.exists(sent.account))
    return fail(fmt::format("account {}: not found", printable(sent.account)));
  auto to = destination_of(site, text_of(ask, "to"));
  if (!to) return tl::unexpected(to.error());
  sent.cluster = std::move(to->cluster);
  sent.place = std::move(to->place);
  const auto credits = Money::parse(text_of(ask, "credits"));
  if (!credits || *credits == Money())
    return fail(fmt::format("CREDITS {}: {}", printable(text_of(ask, "credits")),
                            credits ? "more than 0" : credits.error().text));
  sent.amount = *credits;
  return sent;
}

}  // namespace

Json send_credits(Site& site, const Admission& admission, const Json& ask,
                  const market_submission_t& asker, Time now) {
  const Bank& bank = site.config.bank;
  if (!bank.seed)
    return failure(bank.key_file.empty() ? "bank.key in market.conf names no key: no receipts"
                                         : "no receipts: " + bank.fault);
  auto sent = read_sent(site, admission, ask, asker);
  if (!sent) return failure(sent.error().text);
  // One token stands for one payment: else its receipt could be asked for with another amount.
  const std::string what =
      fmt::format("{}>{}:{}={}", sent->account, sent->cluster, sent->place, sent->amount.micro());
  switch (site.requests.stage_of(sent->token, asker.uid, what)) {
    case Requests::Stage::kWaits:
      return waits();
    case Requests::Stage::kWritten:
      return signed_receipt(site, *sent, now);
    case Requests::Stage::kRefused:
      return failure(
          fmt::format("the ledger refused it: account {} has less, or receipt {} is another one",
                      sent->account, sent->token));
    case Requests::Stage::kUnknown:
      break;
  }
  if (!site.requests.has_room_for(asker.uid, now)) return waits();
  const Money available = site.accounts.available(sent->account);
  const auto again = ask.find("again");
  const bool is_written = again != ask.end() && again->is_boolean() && again->get<bool>();
  if (!is_written && sent->amount > available)
    return failure(fmt::format("needs {}, available {} on {}", enough_text(sent->amount),
                               there_is_text(available), sent->account));
  site.requests.begin(sent->token, asker.uid, now, what);
  site.accounts.send_credits(std::move(*sent));
  return waits();
}

Result<tycoon::Receipt> read_receipt(const Json& ask) {
  const auto found = ask.find("receipt");
  if (found == ask.end() || !found->is_object()) return fail("receipt: a JSON object");
  const Json& json = *found;
  tycoon::Receipt receipt;
  auto id = token_in(Json{{"token", text_of(json, "id")}});
  const auto amount = Money::parse(text_of(json, "amount"));
  const auto signature = bytes_in<std::tuple_size_v<tycoon::Signature>>(text_of(json, "signature"));
  receipt.from = text_of(json, "from");
  receipt.to = text_of(json, "to");
  receipt.time = static_cast<std::int64_t>(number_of(json, "time"));
  if (!id || !amount || *amount == Money() || !signature || receipt.to.empty() ||
      receipt.from.find(':') == receipt.from.npos)
    return fail("receipt: not one that `smarket transfer --receipt` wrote");
  receipt.id = std::move(*id);
  receipt.amount = *amount;
  receipt.signature = *signature;
  return receipt;
}

std::string cluster_of(const tycoon::Receipt& receipt) {
  return lower_case(receipt.from.substr(0, receipt.from.find(':')));
}

Result<void> check_receipt(const Site& site, const tycoon::Receipt& receipt,
                           const std::string& host, std::string_view user) {
  const std::string own = lower_case(fmt::format("{}:{}/{}", site.cluster_name, host, user));
  if (receipt.to != own)
    return fail(fmt::format("receipt {}: it is for {}, not for {}", receipt.id,
                            printable(receipt.to), printable(own)));
  const std::string cluster = cluster_of(receipt);
  const auto trusted = site.config.bank.trusts.find(cluster);
  if (trusted == site.config.bank.trusts.end() || !trusted->second)
    return fail(fmt::format("receipt {}: bank.trusts in market.conf has no key of cluster {}",
                            receipt.id, printable(cluster)));
  if (!tycoon::verify(receipt, *trusted->second))
    return fail(fmt::format("receipt {}: it is not signed by {}, or was changed since", receipt.id,
                            printable(cluster)));
  return {};
}

}  // namespace market

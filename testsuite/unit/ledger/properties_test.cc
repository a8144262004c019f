// SPDX-License-Identifier: GPL-2.0-or-later
// Random histories, repeats included, against a model of the books that keeps nothing but maps.
// Each property is tried on 100 histories of up to 60 operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

const std::vector<std::string> kAccounts = {"physics", "chem", "bio"};

struct ModelRun {
  std::optional<std::pair<std::string, std::int64_t>> lien;
  bool settled = false;
  std::string payer;
  std::int64_t charged = 0, refunded = 0;
};

/// What the books must say, by the rules in core/ledger/ledger.h, written without looking at how
/// they are kept.
struct Model {
  std::map<std::string, std::int64_t> posted = {{"physics", 0}, {"chem", 0}, {"bio", 0}};
  std::map<std::uint32_t, ModelRun> runs;

  std::int64_t liens(const std::string& account) const {
    std::int64_t sum = 0;
    for (const auto& [job, run] : runs) {
      if (run.lien && run.lien->first == account) sum += run.lien->second;
    }
    return sum;
  }
  std::int64_t available(const std::string& account) const {
    return posted.at(account) - liens(account);
  }
};

struct Step {
  int what;
  std::uint32_t job;
  std::string account, other;
  std::int64_t amount, part;
};

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(rc::gen::set(&Step::what, rc::gen::inRange(0, 9)),
                              rc::gen::set(&Step::job, rc::gen::inRange<std::uint32_t>(1, 6)),
                              rc::gen::set(&Step::account, rc::gen::elementOf(kAccounts)),
                              rc::gen::set(&Step::other, rc::gen::elementOf(kAccounts)),
                              rc::gen::set(&Step::amount, rc::gen::inRange<std::int64_t>(0, 100)),
                              rc::gen::set(&Step::part, rc::gen::inRange<std::int64_t>(0, 100)));
}

Outcome model_lien(Model& model, const Step& step) {
  ModelRun& run = model.runs[step.job];
  if (run.settled) return Outcome::kPaid;
  const std::pair<std::string, std::int64_t> wanted{step.account, step.amount};
  if (run.lien == wanted) return Outcome::kAlreadyDone;
  const std::int64_t old = run.lien && run.lien->first == step.account ? run.lien->second : 0;
  const bool shrinks = step.amount <= old;
  if (!shrinks && step.amount > 0 && step.amount > model.available(step.account) + old)
    return Outcome::kNoFunds;
  run.lien = wanted;
  return Outcome::kDone;
}

Outcome model_settle(Model& model, const Step& step, std::int64_t charged, std::int64_t refunded) {
  ModelRun& run = model.runs[step.job];
  if (run.settled) return Outcome::kAlreadyDone;
  run = {std::nullopt, true, step.account, charged, refunded};
  model.posted[step.account] += refunded - charged;
  return Outcome::kDone;
}

/// Applies the step to both; the ledger's answer must be the model's.
void play(Ledger& ledger, Model& model, const Step& step) {
  const Money amount = Money::from_micro(step.amount);
  const Segment run = run_of(step.job, step.account, amount);
  switch (step.what) {
    case 0:
    case 1: {
      const bool done = ledger.deposit(step.account, amount, "", kNow).has_value();
      RC_ASSERT(done == (step.amount > 0));
      if (done) model.posted[step.account] += step.amount;
      break;
    }
    case 2: {
      const bool allowed = step.amount > 0 && step.amount <= model.available(step.account);
      RC_ASSERT(ledger.withdraw(step.account, amount, "", kNow).has_value() == allowed);
      if (allowed) model.posted[step.account] -= step.amount;
      break;
    }
    case 3: {
      const bool allowed = step.amount > 0 && step.account != step.other &&
                           step.amount <= model.available(step.account);
      RC_ASSERT(ledger.transfer(step.account, step.other, amount, "", kNow).has_value() == allowed);
      if (allowed) {
        model.posted[step.account] -= step.amount;
        model.posted[step.other] += step.amount;
      }
      break;
    }
    case 4:
      RC_ASSERT(apply_one(ledger, PlaceLien{run}) == model_lien(model, step));
      break;
    case 5:
      RC_ASSERT(apply_one(ledger, ChangeLien{run}) == model_lien(model, step));
      break;
    case 6: {
      const std::int64_t refunded = std::min(step.part, step.amount);
      const Settle settle = settled(run, amount, Money::from_micro(refunded));
      RC_ASSERT(apply_one(ledger, settle) == model_settle(model, step, step.amount, refunded));
      break;
    }
    case 7: {
      const bool open = model.runs[step.job].lien.has_value();
      RC_ASSERT(apply_one(ledger, VoidLien{run.key, ""}) ==
                (open ? Outcome::kDone : Outcome::kAlreadyDone));
      model.runs[step.job].lien.reset();
      break;
    }
    default: {
      ModelRun& charged = model.runs[step.job];
      const bool allowed =
          step.amount > 0 && charged.settled && step.amount <= charged.charged - charged.refunded;
      RC_ASSERT(ledger.refund("c1", step.job, amount, kWindow, false, "", kNow).has_value() ==
                allowed);
      if (allowed) {
        charged.refunded += step.amount;
        model.posted[charged.payer] += step.amount;
      }
    }
  }
}

void agree(const Ledger& ledger, const Model& model) {
  for (const std::string& account : kAccounts) {
    const Balance balance = balance_of(ledger, account);
    RC_ASSERT(balance.posted.micro() == model.posted.at(account));
    RC_ASSERT(balance.liens.micro() == model.liens(account));
  }
  const auto runs = ledger.segments({});
  RC_ASSERT(runs.has_value());
  for (const Segment& run : *runs) {
    RC_ASSERT(run.charged.micro() == model.runs.at(run.key.job_id).charged);
    RC_ASSERT(run.refunded.micro() == model.runs.at(run.key.job_id).refunded);
  }
  const auto report = ledger.check();
  RC_ASSERT(report.has_value());
  RC_ASSERT(report->faults.empty());
  RC_ASSERT(report->sum == Money());
}

void add_accounts(Ledger& ledger) {
  for (const std::string& account : kAccounts)
    RC_ASSERT(ledger.add_account(account, "", kNow).has_value());
}

RC_GTEST_PROP(LedgerProperties, AnyHistoryAgreesWithTheModelAndBalances, ()) {
  Ledger ledger = open_or_die(":memory:");
  add_accounts(ledger);
  Model model;
  const auto steps = *rc::gen::resize(60, rc::gen::container<std::vector<Step>>(any_step()));
  for (const Step& step : steps) play(ledger, model, step);
  agree(ledger, model);
}

Operation settlement_of(const Step& step) {
  const Segment run = run_of(step.job, step.account, Money::from_micro(step.amount));
  if (step.what % 3 == 0) return VoidLien{run.key, ""};
  if (step.what % 3 == 1) return PlaceLien{run};
  return settled(run, Money::from_micro(step.amount),
                 Money::from_micro(std::min(step.part, step.amount)));
}

RC_GTEST_PROP(LedgerProperties, WhatIsSettledStaysTheSameHoweverOftenItComes, ()) {
  Ledger ledger = open_or_die(":memory:");
  add_accounts(ledger);
  const auto steps = *rc::gen::resize(60, rc::gen::container<std::vector<Step>>(any_step()));
  std::vector<Operation> operations;
  for (const Step& step : steps) operations.push_back(settlement_of(step));
  RC_ASSERT(ledger.apply(operations, kNow).has_value());
  const auto bills = [&] {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> charged;
    SegmentFilter settled_only;
    settled_only.states = {"COMPLETED"};
    const auto runs = ledger.segments(settled_only);
    RC_ASSERT(runs.has_value());
    for (const Segment& run : *runs) {
      charged[run.key.text()] = {run.charged.micro(), run.refunded.micro()};
    }
    return charged;
  };
  const auto once = bills();
  std::map<std::string, Money> balances;
  for (const std::string& account : kAccounts)
    balances[account] = balance_of(ledger, account).posted;
  RC_ASSERT(ledger.apply(operations, kNow + 5).has_value());
  RC_ASSERT(bills() == once);
  for (const std::string& account : kAccounts)
    RC_ASSERT(balance_of(ledger, account).posted == balances[account]);
  RC_ASSERT(ledger.check()->faults.empty());
}

}  // namespace
}  // namespace market::ledger::test

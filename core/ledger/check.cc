// SPDX-License-Identifier: GPL-2.0-or-later
// Do the books balance: everything that is kept as a sum is recomputed from the transfers and
// compared.
#include <fmt/format.h>

#include <map>

#include "core/ledger/books.h"

namespace market::ledger {
namespace {

using Wide = __int128;

struct Recomputed {
  Wide posted = 0;
  Wide liens = 0;
};

struct RecomputedSegment {
  Wide charged = 0;
  Wide refunded = 0;
  std::int64_t open_lien = 0;
  int open_liens = 0;
  int paid_charges = 0;  // above 0
};

struct Books {
  std::map<std::int64_t, Recomputed> accounts;
  std::map<std::int64_t, RecomputedSegment> segments;
  std::map<std::string, std::map<std::int64_t, Wide>> owners;  // by run: what each has of it
  std::int64_t transfers = 0;
};

std::string credits(Wide micro) {
  if (micro > Money::kMaxMicro || micro < -static_cast<Wide>(Money::kMaxMicro))
    return "an amount out of range";
  return Money::from_micro(static_cast<std::int64_t>(micro)).to_string();
}

// Transfers between revenue and the owners of a run's nodes are told by their keys.
void add_owners_part(const std::string& key, std::int64_t debit, std::int64_t credit, Wide amount,
                     Books& books) {
  if (const auto end = key.find(":payout:"); end != std::string::npos) {
    books.owners[key.substr(0, end)][credit] += amount;
  } else if (const auto taken = key.find(":payback."); taken != std::string::npos) {
    books.owners[key.substr(0, taken)][debit] -= amount;
  }
}

Books recompute(Database& database) {
  Books books;
  Statement query = database.prepare(
      "SELECT t.id, t.kind, t.debit, t.credit, t.amount, t.segment, "
      "EXISTS (SELECT 1 FROM transfer AS r WHERE r.resolves = t.id), t.key FROM transfer AS t");
  while (query.step()) {
    ++books.transfers;
    const std::string kind = query.text(1);
    const Wide amount = query.integer(4);
    RecomputedSegment* segment = query.is_null(5) ? nullptr : &books.segments[query.integer(5)];
    if (kind == "void") continue;
    if (kind == "lien") {
      if (query.integer(6) != 0 || segment == nullptr) continue;
      books.accounts[query.integer(2)].liens += amount;
      ++segment->open_liens;
      segment->open_lien = query.integer(0);
      continue;
    }
    books.accounts[query.integer(2)].posted -= amount;
    books.accounts[query.integer(3)].posted += amount;
    if (kind == "transfer")
      add_owners_part(query.text(7), query.integer(2), query.integer(3), amount, books);
    if (segment == nullptr) continue;
    if (kind == "charge") {
      segment->charged += amount;
      segment->paid_charges += amount > 0;
    }
    if (kind == "refund") segment->refunded += amount;
  }
  return books;
}

void check_accounts(Database& database, Books& books, CheckReport& report) {
  Statement query = database.prepare("SELECT id, name, posted, liens FROM account ORDER BY name");
  Wide sum = 0;
  while (query.step()) {
    const Recomputed& truth = books.accounts[query.integer(0)];
    const Wide posted = query.integer(2);
    const Wide liens = query.integer(3);
    sum += posted;
    if (posted != truth.posted) {
      report.faults.push_back(fmt::format("account {}: balance {}, its transfers give {}",
                                          query.text(1), credits(posted), credits(truth.posted)));
    }
    if (liens != truth.liens) {
      report.faults.push_back(fmt::format("account {}: liens {}, its transfers give {}",
                                          query.text(1), credits(liens), credits(truth.liens)));
    }
  }
  if (sum != 0)
    report.faults.push_back(fmt::format("the sum over all accounts is {}, not 0", credits(sum)));
  report.sum = Money() + Money::from_micro(static_cast<std::int64_t>(sum));
}

// Owners together never have more of a run than it brought in, and none gives back more than it
// got.
void check_owners(const std::string& run, Wide income, const std::map<std::int64_t, Wide>& parts,
                  CheckReport& report) {
  Wide sum = 0;
  bool below = false;
  for (const auto& [account, part] : parts) {
    sum += part;
    below |= part < 0;
  }
  if (below)
    report.faults.push_back(fmt::format("run {}: an owner gave back more than it got", run));
  if (sum > income) {
    report.faults.push_back(fmt::format("run {}: owners have {} of it, it brought in {}", run,
                                        credits(sum), credits(income)));
  }
}

void check_segments(Database& database, Books& books, CheckReport& report) {
  Statement query =
      database.prepare("SELECT id, key, charged, refunded, coalesce(lien, 0), status FROM segment");
  while (query.step()) {
    const RecomputedSegment& truth = books.segments[query.integer(0)];
    const auto fault = [&](const std::string& text) {
      report.faults.push_back(fmt::format("run {}: {}", query.text(1), text));
    };
    if (query.integer(2) != truth.charged) {
      fault(fmt::format("charged {}, its transfers give {}", credits(query.integer(2)),
                        credits(truth.charged)));
    }
    if (query.integer(3) != truth.refunded) {
      fault(fmt::format("refunded {}, its transfers give {}", credits(query.integer(3)),
                        credits(truth.refunded)));
    }
    if (truth.paid_charges > 1) fault(fmt::format("charged {} times", truth.paid_charges));
    if (truth.open_liens > 1) fault(fmt::format("{} liens are open at once", truth.open_liens));
    if (query.integer(4) != truth.open_lien) fault("the lien it names is not the one that is open");
    report.open_liens += truth.open_liens;
    if (const auto parts = books.owners.extract(query.text(1))) {
      check_owners(query.text(1), truth.charged - truth.refunded, parts.mapped(), report);
    }
  }
  for (const auto& [run, parts] : books.owners) check_owners(run, 0, parts, report);
}

void check_file(Database& database, CheckReport& report) {
  Statement integrity = database.prepare("PRAGMA integrity_check(5)");
  while (integrity.step()) {
    if (integrity.text(0) != "ok") report.faults.push_back("file: " + integrity.text(0));
  }
  Statement foreign = database.prepare("PRAGMA foreign_key_check");
  if (foreign.step()) {
    report.faults.push_back(fmt::format("table {}: row {} names something that is not there",
                                        foreign.text(0), foreign.integer(1)));
  }
}

}  // namespace

CheckReport check_books(Database& database) {
  CheckReport report;
  report.schema = static_cast<int>(database.integer("PRAGMA user_version"));
  check_file(database, report);
  Books books = recompute(database);
  report.transfers = books.transfers;
  check_accounts(database, books, report);
  check_segments(database, books, report);
  return report;
}

}  // namespace market::ledger

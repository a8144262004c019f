// SPDX-License-Identifier: GPL-2.0-or-later
// Worlds in which everything happens at once: rules and owners change, the market crashes, jobs are
// requeued, suspended, cancelled, refunded, rebid, nodes fail, notes are damaged. Whatever
// comes, the money is right after each step.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/market/note.h"
#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

constexpr std::array kAccounts = {"physics", "lab-a", "lab-b"};

Money most(const Worth& worth) {
  return worth.budget ? *worth.budget : worth.value->max;
}

class MixedWorld {
 public:
  MixedWorld(std::uint64_t seed, bool damaged_notes)
      : random_(seed), damaged_notes_(damaged_notes), world_(settings(), 4, 4) {
    for (const char* owner : {"lab-a", "lab-b"})
      (void)world_.books().add_account(owner, "", kStart);
    (void)world_.books().deposit("physics", *Money::parse("500"), "", kStart);
    world_.sync();
  }

  void run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      for (std::uint64_t i = random_.below(4); i > 0; --i) act();
      pass(static_cast<Time>(5 + random_.below(40)));
      check_books(step % 5 == 0);
    }
    end_all();
  }

 private:
  using Run = std::pair<std::uint32_t, std::uint32_t>;  // job, restart

  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  template <class... Text>
  std::string any(Text... texts) {
    const std::array<const char*, sizeof...(texts)> all{texts...};
    return all[random_.below(all.size())];
  }

  std::string settings() {
    policy_.mechanism =
        any("tycoon", "dva", "dva", "abacus", "fifo", "era", "first_fit", "contracts");
    policy_.charge = any("reserved", "used", "resale");
    policy_.own_is_charged = true;
    std::string text = fmt::format(
        "mechanism = \"{}\"; no_funds = \"{}\"; arrays = \"{}\"; charge = \"{}\";\n"
        "prices = {{ floor = \"{}\"; cap = \"0.5\"; fixed = \"0.05\"; }};\n"
        "planning = {{ auction_period = \"{}\"; }};\n",
        policy_.mechanism, any("wait", "refuse"), any("whole", "per_task"), policy_.charge,
        any("0", "0.05", "0.3"), any("0:00:10", "0:01:00"));
    text += "ends = { ";
    for (const std::string end : {"own", "node_fail", "late", "cancelled_before_start"}) {
      if (!one_in(3)) continue;
      const std::string rule = any("free", "charge", "refund");
      text += fmt::format("{} = \"{}\"; ", end, rule);
      if (end == "own") policy_.own_is_charged = rule != "free";
    }
    text += "};\n";
    std::string owners;
    for (const char* nodes : {"n1", "n2", "n[3-4]"}) {
      if (one_in(4)) continue;
      owners += fmt::format("{}{{ nodes = \"{}\"; account = \"{}\"; ask = \"{}\"; }}",
                            owners.empty() ? "" : ", ", nodes,
                            any("lab-a", "lab-b", "physics", "nobody"), any("0", "0.02", "0.2"));
    }
    return owners.empty() ? text : text + "owners = ( " + owners + " );\n";
  }

  void change_settings() {
    std::ofstream(world_.folder() + "/market.conf")
        << "database = \"" << world_.folder() << "/ledger.db\";\n"
        << settings();
    if (one_in(3)) {
      crash();
    } else {
      world_.market().reconfigure();
      world_.sync();
    }
    for (const std::string& line : world_.log) {
      const bool expected =
          line.find("nobody") != line.npos || line.find("are in force") != line.npos;
      EXPECT_TRUE(!line.starts_with("market.conf:") || expected) << line;
    }
  }

  // What is queued for the books is lost, and made again before the next crash.
  void crash() {
    world_.crash();
    world_.sync();
  }

  /// The settings that say what a run owes.
  struct Policy {
    std::string mechanism, charge;
    bool own_is_charged = true;
  };
  /// The end of a run that was its own doing.
  struct OwnEnd {
    Policy policy;
    std::string rule;  ///< that its user reads in the note, as is the price
    Money quoted;
    Time elapsed = 0, limit = 0, longest_limit = 0;
  };

  void note_own_end(const FakeJob& job) {
    const bool own = job.state != MARKET_JOB_NODE_FAIL && job.state != MARKET_JOB_PREEMPTED &&
                     job.state != MARKET_JOB_BOOT_FAIL;
    if (!own || job.start == 0 || job.end <= job.start) return;
    const auto note = read_note(job.note);
    own_ends_[{job.id, job.restart}] = {policy_,
                                        note ? note->rule : "",
                                        note ? note->price : Money(),
                                        job.end - job.start - job.suspended,
                                        Time{job.limit_min} * 60,
                                        std::max(longest_[job.id], Time{job.limit_min} * 60)};
  }

  static bool is_auctions(const std::string& rule) {
    return rule.starts_with("tycoon") || rule.starts_with("abacus") || rule.starts_with("dva") ||
           rule.starts_with("fifo");
  }

  static bool is_late(const ledger::Segment& bill) {
    return bill.note.starts_with("late") || bill.note.starts_with("ex post");
  }

  // What a run owes at least when its user chose how it ended.
  void check_own_end(const ledger::Segment& bill, const Worth& worth, const OwnEnd& end) {
    if (!end.policy.own_is_charged || bill.quoted == Money() || is_late(bill)) return;
    // Where a crash lost that the bid was sold anew, its row still tells the first sale.
    if (end.rule != bill.mechanism) return;
    const bool posted = !is_auctions(bill.mechanism);
    if (posted && end.policy.charge == "reserved") {
      EXPECT_EQ(bill.charged, end.quoted) << bill.key.text();
    } else if (posted) {
      EXPECT_GE(
          bill.charged.credits(),
          end.quoted.scaled(std::min(bill.elapsed, end.limit), end.longest_limit).credits() - 1e-6)
          << bill.key.text();
    } else if (bill.mechanism.starts_with("abacus") && end.policy.mechanism == "abacus") {
      if (worth.budget) {
        EXPECT_LE(bill.charged, *worth.budget) << bill.key.text();
        EXPECT_GE(
            bill.charged.credits(),
            worth.budget->scaled(std::min(bill.elapsed, end.limit), end.longest_limit).credits() -
                1e-6)
            << bill.key.text();
      }
    } else if (bill.mechanism.starts_with("tycoon") && end.policy.mechanism == "tycoon") {
      if (worth.budget && *worth.budget > Money::from_micro(1000) && end.elapsed >= 10) {
        EXPECT_GT(bill.charged, Money()) << bill.key.text();
      }
    }
  }

  FakeJob* any_job(std::initializer_list<int> states) {
    std::vector<FakeJob*> found;
    for (auto& [id, job] : world_.jobs) {
      if (std::find(states.begin(), states.end(), job.state) != states.end() &&
          job.tasks_pending == 0) {
        found.push_back(&job);
      }
    }
    return found.empty() ? nullptr : found[random_.below(found.size())];
  }
  FakeJob* any_started() { return any_job({MARKET_JOB_RUNNING, MARKET_JOB_SUSPENDED}); }

  void act() {
    using Action = void (MixedWorld::*)();
    static constexpr Action kActions[] = {
        &MixedWorld::submit,  &MixedWorld::submit,       &MixedWorld::submit,
        &MixedWorld::submit,  &MixedWorld::requeue,      &MixedWorld::requeue_ended,
        &MixedWorld::end_one, &MixedWorld::end_unheard,  &MixedWorld::suspend,
        &MixedWorld::resume,  &MixedWorld::turn_node,    &MixedWorld::refund,
        &MixedWorld::refund,  &MixedWorld::rebid,        &MixedWorld::change_limit,
        &MixedWorld::hold,    &MixedWorld::move_credits, &MixedWorld::reorder};
    if (one_in(12)) return change_settings();
    if (one_in(15)) return crash();
    if (damaged_notes_ && one_in(6)) return damage_note();
    (this->*kActions[random_.below(std::size(kActions))])();
  }

  void submit() {
    Ask ask;
    ask.cpus = static_cast<std::uint32_t>(1 + random_.below(one_in(4) ? 16 : 5));
    ask.limit_min = static_cast<std::uint32_t>(2 + random_.below(30));
    ask.runtime = static_cast<Time>(1 + random_.below(ask.limit_min * 60));
    ask.array = one_in(8) ? 3 : 0;
    ask.held = one_in(10);
    const std::string credits = any("0", "0.000001", "0.000003", "0.4", "2", "9.999999", "60");
    if (one_in(4)) {
      ask.value = credits + ":0:10:00:0:40:00";
    } else {
      ask.budget = credits;
    }
    const std::uint32_t before = world_.jobs.empty() ? 0 : world_.jobs.rbegin()->first;
    const std::uint32_t id = world_.run(ask);
    if (id == 0 || id == before) return;
    first_made_[id] = world_.now;
    worth_[id] = *parse_worth({ask.budget, ask.value});
  }

  void queue_again(FakeJob& job) {
    ++job.restart;
    job.state = MARKET_JOB_PENDING;
    job.start = job.end = job.suspended = 0;
    job.cores.clear();
    job.resv.clear();
    job.submit = world_.now;
    job.begin = world_.now + static_cast<Time>(random_.below(100));
  }

  void requeue() {
    FakeJob* job = any_started();
    if (job == nullptr) return;
    const int states[] = {MARKET_JOB_REQUEUED, MARKET_JOB_NODE_FAIL, MARKET_JOB_PREEMPTED};
    if (!one_in(5)) end(*job, states[random_.below(3)]);  // else the end is not told
    queue_again(*job);
    if (one_in(3)) return;
    if (one_in(2)) crash();
    if (!one_in(3)) return;
    job->state = MARKET_JOB_RUNNING;  // Slurm starts it before a pass sees it
    job->start = world_.now;
    job->cores[0] = {0};
    if (one_in(2)) return;
    world_.now += static_cast<Time>(random_.below(60));
    end(*job, MARKET_JOB_COMPLETED);
  }

  void requeue_ended() {
    FakeJob* job = any_job({MARKET_JOB_COMPLETED, MARKET_JOB_FAILED});
    if (job != nullptr && job->ended_told) queue_again(*job);
  }

  void end(FakeJob& job, int state) {
    const Run run{job.id, job.restart};
    expect_bill(job);
    world_.end(job, state);
    ran_[run] = {job.start, job.end};
    note_own_end(job);
    const auto note = read_note(job.note);
    if (note && note->settled) told_[run] = note->charged;
  }

  // What has a lien when it ends is billed, if only with 0.
  void expect_bill(const FakeJob& job) {
    const auto note = read_note(job.note);
    if (job.state == MARKET_JOB_PENDING || !note || note->waiting) return;
    const auto liens = world_.books().open_liens("cluster");
    for (const ledger::OpenLien& lien : *liens) {
      const ledger::SegmentKey& key = lien.segment.key;
      if (key.job_id == job.id && key.restart == job.restart)
        to_bill_.insert({job.id, job.restart});
    }
  }

  void end_one() {
    FakeJob* job = one_in(4) ? any_job({MARKET_JOB_PENDING}) : any_started();
    if (job == nullptr) return;
    const bool pending = job->state == MARKET_JOB_PENDING;
    const int states[] = {MARKET_JOB_CANCELLED,    MARKET_JOB_FAILED,   MARKET_JOB_TIMEOUT,
                          MARKET_JOB_COMPLETED,    MARKET_JOB_DEADLINE, MARKET_JOB_BOOT_FAIL,
                          MARKET_JOB_OUT_OF_MEMORY};
    end(*job, states[pending ? 0 : random_.below(7)]);
  }

  // The market is down when the job ends, perhaps for long.
  void end_unheard() {
    FakeJob* job = any_started();
    if (job == nullptr) return;
    world_.now += static_cast<Time>(random_.below(one_in(3) ? 2000 : 20));
    expect_bill(*job);
    job->state = MARKET_JOB_COMPLETED;
    job->end = world_.now;
    job->ended_told = true;
    ran_[{job->id, job->restart}] = {job->start, job->end};
    note_own_end(*job);
    crash();
    job->cores.clear();
  }

  void suspend() {
    if (FakeJob* job = any_job({MARKET_JOB_RUNNING})) job->state = MARKET_JOB_SUSPENDED;
  }
  void resume() {
    if (FakeJob* job = any_job({MARKET_JOB_SUSPENDED})) job->state = MARKET_JOB_RUNNING;
  }

  void turn_node() {
    const auto node = static_cast<std::uint32_t>(random_.below(world_.node_up.size()));
    world_.node_up[node] = !world_.node_up[node];
    world_.tell_cluster();
    if (world_.node_up[node]) return;
    for (auto& [id, job] : world_.jobs) {
      if (!job.cores.contains(node)) continue;
      end(job, MARKET_JOB_NODE_FAIL);
      queue_again(job);
    }
  }

  void refund() {
    FakeJob* job = any_job({MARKET_JOB_COMPLETED, MARKET_JOB_FAILED, MARKET_JOB_PENDING});
    if (job == nullptr) return;
    ledger::SegmentFilter filter;
    filter.jobs = {job->id};
    Money left;
    const auto runs = world_.books().segments(filter);
    for (const ledger::Segment& run : *runs) {
      if (run.key.job_id == job->id) left += run.charged - run.refunded;  // not its sisters
    }
    Money part = one_in(3) ? left : left.scaled(static_cast<std::int64_t>(random_.below(100)), 99);
    if (one_in(3)) part = Money::from_micro(1);
    const bool can = part > Money() && part <= left;
    const auto done =
        world_.books().refund("cluster", job->id, part, 365 * 86400, one_in(2), "", world_.now);
    EXPECT_EQ(done.has_value(), can) << (done ? "" : done.error().text);
  }

  void rebid() {
    FakeJob* job = any_job({MARKET_JOB_PENDING, MARKET_JOB_RUNNING});
    if (job == nullptr || !worth_.contains(job->id)) return;
    const std::string credits = any("0", "0.5", "3", "61");
    const bool is_value = one_in(3);
    const std::string text = is_value ? credits + ":0:10:00:0:40:00" : credits;
    const auto answer = nlohmann::json::parse(
        world_.query(fmt::format(R"({{"verb":"rebid","job":"{}","{}":"{}"}})", job->id,
                                 is_value ? "value" : "budget", text)));
    if (!answer["ok"].get<bool>()) return;
    worth_[job->id] = *parse_worth({is_value ? "" : text, is_value ? text : ""});
    pass(1);  // which puts it into the note
  }

  void change_limit() {
    FakeJob* job = any_job({MARKET_JOB_PENDING, MARKET_JOB_RUNNING});
    if (job == nullptr || job->limit_min < 3) return;
    const bool longer = job->state == MARKET_JOB_PENDING && one_in(2);
    job->limit_min = longer ? job->limit_min * 2 : job->limit_min - 1;
  }

  void hold() {
    if (FakeJob* job = any_job({MARKET_JOB_PENDING})) job->dependent = !job->dependent;
  }

  void move_credits() {
    if (one_in(2)) {
      (void)world_.books().deposit("physics", *Money::parse("30"), "", world_.now);
    } else {
      (void)world_.books().withdraw("physics", world_.available("physics").scaled(1, 2), "",
                                    world_.now);
    }
    for (const char* owner : {"lab-a", "lab-b"}) {
      if (one_in(3)) (void)world_.books().withdraw(owner, world_.available(owner), "", world_.now);
    }
    world_.sync();
  }

  void reorder() {
    std::vector<std::string> names = world_.node_names;
    std::rotate(names.begin(), names.begin() + 1, names.end());
    world_.reorder_nodes(names);
    world_.reservations.clear();
    world_.tell_cluster();
  }

  void damage_note() {
    FakeJob* job = any_job({MARKET_JOB_PENDING, MARKET_JOB_RUNNING, MARKET_JOB_COMPLETED});
    if (job == nullptr) return;
    std::string& note = job->note;
    if (one_in(4)) {
      note.resize(random_.below(note.size() + 1));
    } else {
      const std::string key =
          any("accrued", "rate", "ran", "run_start", "start", "end", "submitted", "price", "budget",
              "rule", "account", "seats", "waiting", "token", "value", "free_after", "restart",
              "quoted", "charged");
      const std::size_t at = note.find("\"" + key + "\":");
      if (at == std::string::npos) return;
      const std::size_t from = at + key.size() + 3;
      note.replace(
          from, note.find_first_of(",}", from) - from,
          any("-1", "1e308", "1e999", "NaN", "null", "9223372036854775807", "-9223372036854775808",
              "18446744073709551615", "\"x\"", "[]", "0.5", "\"9000000000000\"", "\"-1\"",
              "4000000000", "\"lab-a\"", "\"dva/1\"", "\"n1:f::,n9:zz:-1:a=b\""));
    }
    damaged_.insert(job->id);
    if (one_in(2)) crash();
  }

  void pass(Time seconds) {
    const std::size_t before = world_.jobs.size();
    world_.step();
    world_.sync();
    if (world_.jobs.size() != before) adopt_tasks();
    for (auto& [id, job] : world_.jobs) {
      if (job.state == MARKET_JOB_SUSPENDED) job.suspended += seconds;
      longest_[id] = std::max(longest_[id], Time{job.limit_min} * 60);
      if (!job.ended_told || job.state <= MARKET_JOB_SUSPENDED) continue;
      const bool is_new =
          ran_.insert_or_assign({id, job.restart}, std::pair(job.start, job.end)).second;
      if (is_new) note_own_end(job);
    }
    world_.now += seconds;
  }

  // Tasks of an array have the bid of their array.
  void adopt_tasks() {
    for (const auto& [id, job] : world_.jobs) {
      if (worth_.contains(id) || !worth_.contains(job.array_job)) continue;
      worth_[id] = worth_.at(job.array_job);
      first_made_[id] = first_made_.at(job.array_job);
    }
  }

  void check_books(bool in_full) {
    const auto segments = world_.books().segments(ledger::SegmentFilter{});
    ASSERT_TRUE(segments);
    for (const ledger::Segment& bill : *segments) {
      // Of a voided one its lien returned, and the run may be to come; a rest is no run.
      if (bill.state != "VOIDED" && bill.state != "UNUSED") check_bill(bill);
    }
    if (!in_full) return;
    const auto check = world_.books().check();
    ASSERT_TRUE(check);
    EXPECT_EQ(check->sum, Money());
    EXPECT_TRUE(check->faults.empty()) << check->faults.front();
  }

  // Once a run is billed, its bill stays; two bills for one run there are never.
  void check_bill(const ledger::Segment& bill) {
    const Run run{bill.key.job_id, bill.key.restart};
    const auto [known, is_new] = bills_.try_emplace(run, bill);
    ASSERT_EQ(known->second.key, bill.key) << "billed twice";
    EXPECT_EQ(known->second.charged, bill.charged) << bill.key.text();
    EXPECT_LE(known->second.refunded, bill.refunded) << bill.key.text();
    EXPECT_LE(bill.refunded, bill.charged);
    known->second.refunded = bill.refunded;
    if (!is_new || damaged_.contains(run.first) || !worth_.contains(run.first)) return;
    const Worth& worth = worth_.at(run.first);
    EXPECT_LE(bill.charged, most(worth)) << bill.key.text();
    if (bill.promised_end == 0 && worth.value) {
      // What it lost while it overran its time limit does not count.
      const auto own = own_ends_.find(run);
      const Time over =
          own == own_ends_.end() ? 0 : std::max<Time>(0, own->second.elapsed - own->second.limit);
      const auto delay = static_cast<double>(bill.end - over - first_made_.at(run.first));
      EXPECT_LE(bill.charged.credits(), worth.value->value_at(delay) + 1e-6) << bill.key.text();
    }
    if (own_ends_.contains(run)) check_own_end(bill, worth, own_ends_.at(run));
    if (told_.contains(run)) {
      EXPECT_EQ(bill.charged, told_.at(run)) << bill.key.text();
    }
    if (ran_.contains(run) && bill.start != 0) {
      EXPECT_EQ(bill.start, ran_.at(run).first) << bill.key.text();
      EXPECT_EQ(bill.end, ran_.at(run).second) << bill.key.text();
    }
  }

  // When no job is left nothing is set aside, and the market knows what the books know.
  void end_all() {
    for (auto& [id, job] : world_.jobs) {
      if (job.state <= MARKET_JOB_SUSPENDED) world_.end(job, MARKET_JOB_CANCELLED);
    }
    for (int i = 0; i < 12; ++i) pass(15);
    for (int i = 0; i < 12; ++i)
      pass(3600);  // what was bought and not used waits for its hours to be over
    check_books(true);
    for (const Run& run : to_bill_) {
      const bool is_billed = bills_.contains(run) || damaged_.contains(run.first);
      EXPECT_TRUE(is_billed) << "no bill for job " << run.first << ", restart " << run.second;
    }
    const auto answer = nlohmann::json::parse(world_.query(R"({"verb":"balance"})"));
    for (const auto& account : answer["accounts"]) {
      const auto kept = world_.balance(account["account"].get<std::string>());
      EXPECT_EQ(kept.liens, Money()) << kept.account;
      EXPECT_EQ(account["liens"], "0.00") << kept.account;
      EXPECT_EQ(account["balance"], kept.posted.to_string()) << kept.account;
    }
    EXPECT_EQ(answer["accounts"].size(), kAccounts.size());
  }

  SeededRandom random_;
  bool damaged_notes_;
  Policy policy_;  // before world_, whose settings it is
  World world_;
  std::map<std::uint32_t, Worth> worth_;
  std::map<std::uint32_t, Time> first_made_;
  std::map<Run, ledger::Segment> bills_;
  std::map<Run, std::pair<Time, Time>> ran_;
  std::map<Run, OwnEnd> own_ends_;
  std::map<std::uint32_t, Time> longest_;  // of the time limits a job had
  std::map<Run, Money> told_;              // what the user reads in the note after the end
  std::set<Run> to_bill_;
  std::set<std::uint32_t> damaged_;
};

// SLURM_MARKET_SEEDS="FROM COUNT" runs others.
TEST(MixedWorld, KeepsItsMoneyRight) {
  std::uint64_t first = 1, count = 12;
  if (const char* seeds = std::getenv("SLURM_MARKET_SEEDS")) {
    char* end = nullptr;
    first = std::strtoull(seeds, &end, 10);
    count = std::strtoull(end, nullptr, 10);
  }
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    MixedWorld(seed, seed % 3 == 0).run(100);
  }
}

}  // namespace
}  // namespace market::testing

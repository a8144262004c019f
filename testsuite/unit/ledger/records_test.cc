// SPDX-License-Identifier: GPL-2.0-or-later
// Liens and charges against what the market and Slurm say of the jobs.
#include "core/ledger/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Time kSubmit = kNow - 100;  // as run_of() says

OpenLien lien(std::uint32_t job, const char* amount) {
  Segment run = run_of(job, "physics", credits(amount));
  run.key.bid = "a";
  return {run};
}

LiveLien live(std::uint32_t job, const char* amount, const char* account = "physics") {
  return {job, 0, "a", account, credits(amount)};
}

SlurmRuns slurm(std::initializer_list<SlurmRun> list) {
  SlurmRuns runs;
  for (const SlurmRun& run : list) runs.emplace(run.job_id, run);
  return runs;
}

TEST(Liens, ThatAgreeAreNoFault) {
  EXPECT_THAT(compare_liens({lien(1, "5"), lien(2, "3")}, {live(2, "3"), live(1, "5")}), IsEmpty());
}

TEST(Liens, FromBeforeBidsWereKeptAgreeToo) {
  EXPECT_THAT(compare_liens({{run_of(1, "physics", credits("5"))}}, {live(1, "5")}), IsEmpty());
}

TEST(Liens, EachKindOfDifferenceIsNamed) {
  EXPECT_THAT(compare_liens({}, {live(1, "5")}),
              ElementsAre("job 1 (run 0): 5.00 on physics should be set aside, the books have no "
                          "lien"));
  EXPECT_THAT(compare_liens({lien(1, "5")}, {}),
              ElementsAre("job 1 (run 0): 5.00 on physics is set aside, but the market knows no "
                          "such live job"));
  EXPECT_THAT(compare_liens({lien(1, "5")}, {live(1, "4")}), ElementsAre(HasSubstr("it is 5.00")));
  EXPECT_THAT(compare_liens({lien(1, "5")}, {live(1, "5", "biology")}),
              ElementsAre(HasSubstr("on biology should be set aside")));
  LiveLien later = live(1, "5");
  later.bid = "b";
  EXPECT_EQ(compare_liens({lien(1, "5")}, {later}).size(), 2u) << "another job of that number";
}

TEST(Liens, SlurmMustHaveALiveJob) {
  EXPECT_THAT(liens_without_job({lien(1, "5")}, slurm({{.job_id = 1, .is_live = true}})),
              IsEmpty());
  EXPECT_EQ(liens_without_job({lien(1, "5")}, slurm({{.job_id = 1, .is_live = false}})).size(), 1u);
  EXPECT_EQ(liens_without_job({lien(1, "5")}, slurm({{.job_id = 2, .is_live = true}})).size(), 1u);
}

/// The segment that settled() makes: ran from a minute before kNow until kNow.
Segment charged(const char* amount) {
  return settled(run_of(1, "physics", credits("5")), credits(amount)).segment;
}

std::vector<std::string> compared_with(const Segment& run, const SlurmRuns& runs,
                                       bool complete = true) {
  std::size_t compared = 0;
  return compare_charges({run}, runs, complete, compared);
}

TEST(Charges, OfARunThatSlurmHasAreRight) {
  const SlurmRun ran{.job_id = 1, .submitted = kSubmit, .start = kNow - 60, .end = kNow};
  std::size_t count = 0;
  EXPECT_THAT(compare_charges({charged("5")}, slurm({ran}), true, count), IsEmpty());
  EXPECT_EQ(count, 1u);
}

TEST(Charges, OfWhatNeverRanAreFaults) {
  const SlurmRun never{.job_id = 1, .submitted = kSubmit, .end = kNow};
  EXPECT_THAT(compared_with(charged("5"), slurm({never})),
              ElementsAre("job 1 (run 0): charged 5.00 on physics, but Slurm's records say that it "
                          "never ran"));
  EXPECT_THAT(compared_with(charged("5"), {}), ElementsAre(HasSubstr("have no such run")));
  const SlurmRun other{.job_id = 1, .submitted = kSubmit + 50, .start = kNow - 5, .end = kNow};
  EXPECT_THAT(compared_with(charged("5"), slurm({other})),
              ElementsAre(HasSubstr("have no such run")));
  EXPECT_THAT(compared_with(charged("5"), {}, false), IsEmpty()) << "slurmctld forgets";
  EXPECT_THAT(compared_with(charged("0"), slurm({never})), IsEmpty());
  Segment fee = charged("5");
  fee.start = 0;
  EXPECT_THAT(compared_with(fee, slurm({never})), IsEmpty()) << "cancelled for a fee";
  Segment place = charged("5");
  place.note = "place market_r1";
  EXPECT_THAT(compared_with(place, slurm({never})), IsEmpty()) << "others ran in it";
}

TEST(Charges, AdminCommentMustSayTheSame) {
  SlurmRun ran{.job_id = 1, .submitted = kSubmit, .start = kNow - 60, .end = kNow};
  for (const char* site : {"", "the site's own words", R"({"market":1})", R"({"market":{)"}) {
    ran.admin_comment = site;
    EXPECT_THAT(compared_with(charged("5"), slurm({ran})), IsEmpty()) << site;
  }
  ran.admin_comment = R"({"market":{"account":"physics","charged":"5.00"}})";
  EXPECT_THAT(compared_with(charged("5"), slurm({ran})), IsEmpty());
  EXPECT_THAT(
      compared_with(charged("0"), slurm({ran})),
      ElementsAre("job 1 (run 0): charged 0.00 on physics, but its AdminComment says 5.00"));
  Segment next = run_of(1, "physics", credits("5"), 1);
  next.key.submitted = kNow;
  const SlurmRun never{.job_id = 1,
                       .submitted = kNow,
                       .end = kNow,
                       .is_live = false,
                       .admin_comment = ran.admin_comment};
  std::size_t count = 0;
  EXPECT_THAT(compare_charges({charged("5"), next}, slurm({never}), false, count), IsEmpty())
      << "the bill of the run before";
  ran.is_live = true;  // it is in the queue again, with the bill of the run before
  EXPECT_THAT(compared_with(charged("0"), slurm({ran})), IsEmpty());
}

}  // namespace
}  // namespace market::ledger::test

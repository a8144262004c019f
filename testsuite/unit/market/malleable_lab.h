// SPDX-License-Identifier: GPL-2.0-or-later
// Four owners' nodes and a job that may have one to sixteen CPUs.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "fake_cluster.h"

namespace market::testing {

// Asks of 400, 300, 200 and 100 a CPU-hour on nodes of 16 CPUs: the cheapest node is the last one.
inline constexpr const char* kLabSettings =
    R"(mechanism = "dva"; prices = { floor = "0.05"; }; planning = { start_slack = "1:00"; };
owners = ( { nodes = "n1"; account = "lab-1"; ask = "400"; }, { nodes = "n2"; account = "lab-2"; ask = "300"; },
           { nodes = "n3"; account = "lab-3"; ask = "200"; }, { nodes = "n4"; account = "lab-4"; ask = "100"; } );
)";

struct Lab : World {
  explicit Lab(const std::string& settings = kLabSettings, std::uint32_t cores = 16)
      : World(settings, 4, cores) {
    for (const char* owner : {"lab-1", "lab-2", "lab-3", "lab-4"})
      (void)books().add_account(owner, "", now);
    (void)books().deposit("physics", *Money::parse("100000"), "", now);
    sync();
  }
  /// 960 CPU-seconds on 1 to 16 CPUs, for 800 an hour.
  static Ask malleable(const char* rate = "800") {
    Ask ask;
    ask.rate = rate;
    ask.limit_min = 0;
    ask.workload = "cpu:16:00";
    ask.malleable = "cpu:1-16";
    ask.cpu_seconds = 960;
    return ask;
  }
  /// Awarded, and Slurm does not start it yet.
  std::uint32_t awarded() {
    const std::uint32_t id = run(malleable());
    job(id).never_starts = true;
    advance(now + 20, 1);
    EXPECT_EQ(job(id).cpus, 8u);
    return id;
  }
  ledger::Segment bill(std::uint32_t id, std::size_t restart = 0) {
    ledger::SegmentFilter filter;
    filter.jobs = {id};
    filter.open_too = true;
    const auto runs = books().segments(filter);
    for (const auto& segment : *runs) {
      if (segment.key.restart == restart) return segment;
    }
    return {};
  }
  std::string why(std::uint32_t id) {
    return query(fmt::format(R"({{"verb":"why","job":"{}"}})", id));
  }
  void expect_refused(const Ask& ask, const std::string& text) {
    const Answer answer = test_only(ask);
    EXPECT_EQ(answer.verdict, MARKET_REJECTED) << text;
    EXPECT_NE(answer.text.find(text), std::string::npos) << answer.text;
  }
};

}  // namespace market::testing

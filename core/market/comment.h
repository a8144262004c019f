// SPDX-License-Identifier: GPL-2.0-or-later
// Bids in --comment: whether the site takes them there, and what is said of slips.
#pragma once

#include <string>
#include <string_view>

#include "core/words/comment_bid.h"
#include "core/words/slurm_view.h"

namespace market {

/// What a comment says of a bid; the strings of market_comment_t.
struct CommentAnswer {
  market_verdict verdict = MARKET_NO_BID;
  CommentBid bid;
  std::string text;
};

/// `has_bid`: the job has one already; `allowed`: the site takes bids from comments.
CommentAnswer judge_comment(std::string_view comment, bool has_bid, bool allowed);

}  // namespace market

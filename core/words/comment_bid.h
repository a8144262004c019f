// SPDX-License-Identifier: GPL-2.0-or-later
// A bid in a job's comment, for clients that cannot pass --budget: "market: budget=40",
// "market: budget-rate=3.50" or "market: value=40:2-00:4-00", alone or between semicolons.
#pragma once

#include <string>
#include <string_view>

namespace market {

struct CommentBid {
  enum class Kind {
    kNone,
    kBid,        ///< budget, rate or value is set, as it was typed
    kSlip,       ///< meant for the market, and no bid
    kLooksLike,  ///< may have been meant for it
  };
  Kind kind = Kind::kNone;
  std::string budget, rate, value;
  std::string said;  ///< the part that it is about
  std::string rest;  ///< of kBid: the comment without that part
};

/// What a comment says of a bid. Two bids are a slip.
CommentBid read_comment_bid(std::string_view comment);

}  // namespace market

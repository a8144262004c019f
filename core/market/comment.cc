// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/comment.h"

#include <fmt/format.h>

#include "core/market/text.h"

namespace market {

CommentAnswer judge_comment(std::string_view comment, bool has_bid, bool allowed) {
  CommentAnswer answer{MARKET_NO_BID, read_comment_bid(comment), ""};
  const std::string said = printable(answer.bid.said, 80);
  std::string what;
  switch (answer.bid.kind) {
    case CommentBid::Kind::kNone:
      return answer;
    case CommentBid::Kind::kLooksLike:
      if (has_bid) return answer;
      what = fmt::format("is no bid, so the job goes without one; {}",
                         allowed ? "write market: budget=CREDITS, market: budget-rate=CREDITS or "
                                   "market: value=MAX:DROP:ZERO"
                                 : "give --budget, --budget-rate or --value");
      break;
    case CommentBid::Kind::kBid:
      answer.verdict = MARKET_ACCEPTED;
      if (allowed && !has_bid) return answer;
      what = allowed ? "the job has another bid already; give one of them"
                     : "this site takes no bids from comments; give --budget, --budget-rate or "
                       "--value";
      break;
    case CommentBid::Kind::kSlip:
      what = allowed
                 ? "a bid there is one of market: budget=CREDITS, market: budget-rate=CREDITS and "
                   "market: value=MAX:DROP:ZERO"
                 : "a bid is given with --budget, --budget-rate or --value";
      break;
  }
  const bool refused = answer.bid.kind != CommentBid::Kind::kLooksLike;
  if (refused) answer.verdict = MARKET_REJECTED;
  answer.text = prefixed(fmt::format("--comment: '{}'{} {}", said, refused ? ":" : "", what));
  return answer;
}

}  // namespace market

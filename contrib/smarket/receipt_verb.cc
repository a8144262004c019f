// SPDX-License-Identifier: GPL-2.0-or-later
// transfer --receipt: credits go to a host of another cluster.
#include <nlohmann/json.hpp>

#include "contrib/client/ask_books.h"
#include "contrib/smarket/verbs.h"
#include "core/words/money.h"

namespace market::smarket {

int send_credits(const Common&, const MoneyArguments& arguments) {
  const auto credits = Money::parse(arguments.credits);
  if (!credits) return complain({"CREDITS " + arguments.credits + ": " + credits.error().text});
  if (!arguments.note.empty()) return complain({"--note: a receipt has none"});
  nlohmann::json request{{"verb", "send"},
                         {"account", arguments.account},
                         {"to", arguments.to},
                         {"credits", arguments.credits}};
  if (!arguments.again.empty()) {
    request["token"] = arguments.again;
    request["again"] = true;
  }
  const auto answer = client::change_books(std::move(request));
  if (!answer) return complain(answer.error());
  print_json(answer->at("receipt"));
  return kSuccess;
}

}  // namespace market::smarket

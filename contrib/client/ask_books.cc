// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/client/ask_books.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "contrib/client/ask.h"

namespace market::client {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 15s;  // for one answer; longer than the market keeps a question
constexpr auto kFirstPause = 2ms, kLongestPause = 200ms;

/// Ever longer pauses until the patience is over.
class Pauses {
 public:
  bool over() const { return Clock::now() >= until_; }
  void wait() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, std::chrono::milliseconds(kLongestPause));
  }

 private:
  const Clock::time_point until_ = Clock::now() + kPatience;
  std::chrono::milliseconds pause_ = kFirstPause;
};

std::string made_up_token() {
  std::random_device source;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", source());
  return token;
}

}  // namespace

Result<nlohmann::json> ask_books(const nlohmann::json& question) {
  nlohmann::json query = question;
  for (Pauses pauses; !pauses.over(); pauses.wait()) {
    auto answer = hear_market(query);
    if (!answer) return answer;
    if (answer->value("lost", false)) {
      query = question;
    } else if (!answer->value("ok", false)) {
      return fail(answer->value("error", std::string("the market gives no reason")));
    } else if (!answer->contains("ticket")) {
      return answer;
    } else if (const auto ticket = answer->value("ticket", std::uint64_t{0}); ticket != 0) {
      query = {{"verb", question.at("verb")}, {"ticket", ticket}};
    }
  }
  return fail("the market is busy: its books were not read in time; try again");
}

Result<nlohmann::json> change_books(nlohmann::json request) {
  if (!request.contains("token")) request["token"] = made_up_token();
  for (Pauses pauses; !pauses.over(); pauses.wait()) {
    auto answer = ask_market(request);
    if (!answer || !answer->value("waits", false)) return answer;
  }
  return fail(fmt::format(
      "the market is busy: it did not say in time whether that was written as {}; look before you "
      "try again",
      request.at("token").get<std::string>()));
}

}  // namespace market::client

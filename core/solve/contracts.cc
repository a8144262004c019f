// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve contracts`: replica-surrogate matching, its prices, and settlement.
#include "core/mechanism/contracts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

using nlohmann::ordered_json;

/// Most pairs of an instance: its matrix then takes 200 MB.
constexpr std::size_t kMostContractPairs = 5000;

struct SigmoidType {
  double max = 0, drop = 0, zero = 0;

  double value(double time) const { return sigmoid_value(max, drop, zero, time); }
};

struct Settle {
  std::size_t surrogate = 0;
  double actual_time = 0;
};

WeightMatrix given_weights(const Fields& input) {
  const nlohmann::json& rows = input.list("weights");
  if (rows.size() > kMostContractPairs) {
    input.refuse("weights", fmt::format("must have at most {} rows", kMostContractPairs));
  }
  WeightMatrix weights(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string path = fmt::format("weights[{}]", row);
    if (!rows[row].is_array()) throw InputError(path + ": must be a list");
    if (rows[row].size() != rows.size()) {
      throw InputError(
          fmt::format("{}: must have {} numbers: the matrix is square", path, rows.size()));
    }
    for (std::size_t column = 0; column < rows.size(); ++column) {
      weights(row, column) =
          number_at(rows[row][column], fmt::format("{}[{}]", path, column), kNotNegative);
    }
  }
  return weights;
}

std::vector<SigmoidType> types_of(const Fields& input, std::string_view name) {
  std::vector<SigmoidType> types;
  for (const Fields& field : input.objects(name, {"max", "drop", "zero"})) {
    SigmoidType type{field.number("max", kNotNegative), field.number("drop", kNotNegative),
                     field.number("zero")};
    if (!(type.zero > type.drop)) field.refuse("zero", "must be > drop");
    types.push_back(type);
  }
  return types;
}

std::optional<Settle> settle_of(const Fields& input, const nlohmann::json& json,
                                std::size_t pairs) {
  if (!input.has("settle")) return std::nullopt;
  const Fields settle(json.at("settle"), "settle", {"surrogate", "actual_time"});
  const auto last = static_cast<std::int64_t>(pairs) - 1;
  return Settle{static_cast<std::size_t>(settle.integer("surrogate", 0, last)),
                settle.number("actual_time", kNotNegative)};
}

ordered_json output(const ContractPrices& prices) {
  ordered_json result;
  result["matching"] = prices.surrogate_of_replica;
  result["total"] = prices.total;
  result["prices"] = prices.price_of_replica;
  return result;
}

ordered_json settlement(const ContractPrices& prices, const std::vector<SigmoidType>& replicas,
                        const std::vector<double>& times, const Settle& settle) {
  const auto found = std::find(prices.surrogate_of_replica.begin(),
                               prices.surrogate_of_replica.end(), settle.surrogate);
  const auto replica = static_cast<std::size_t>(found - prices.surrogate_of_replica.begin());
  const double promised = times[settle.surrogate];
  const double price = prices.price_of_replica[replica];
  ordered_json result;
  result["replica"] = replica;
  result["surrogate"] = settle.surrogate;
  result["contract_price"] = price;
  result["final_price"] =
      ex_post_price(price, promised, replicas[replica].value(promised), settle.actual_time,
                    replicas[replica].value(settle.actual_time));
  return result;
}

}  // namespace

ordered_json contracts(const nlohmann::json& json) {
  if (json.is_object() && json.contains("weights")) {
    return output(price_contracts(given_weights(Fields(json, "", {"weights"}))));
  }
  const Fields input(json, "", {"replicas", "times", "surrogates", "settle"});
  const std::vector<SigmoidType> replicas = types_of(input, "replicas");
  if (replicas.size() > kMostContractPairs) {
    input.refuse("replicas", fmt::format("must be at most {}", kMostContractPairs));
  }
  const std::vector<double> times = input.numbers("times", kNotNegative);
  if (times.size() != replicas.size()) input.refuse("times", "must be as many as replicas");
  if (input.has("surrogates") && types_of(input, "surrogates").size() != times.size()) {
    input.refuse("surrogates", "must be as many as times");
  }
  const std::optional<Settle> settle = settle_of(input, json, replicas.size());

  WeightMatrix weights(replicas.size());
  for (std::size_t row = 0; row < replicas.size(); ++row) {
    for (std::size_t column = 0; column < times.size(); ++column) {
      weights(row, column) = replicas[row].value(times[column]);
    }
  }
  const ContractPrices prices = price_contracts(weights);
  ordered_json result = output(prices);
  if (settle) result["settlement"] = settlement(prices, replicas, times, *settle);
  return result;
}

}  // namespace market::solving

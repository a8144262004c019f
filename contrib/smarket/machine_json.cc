// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/machine_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/sim/slurm_conf.h"

namespace market::smarket {
namespace {

using nlohmann::json;

/// One line of slurm.conf for an entry of the file: the same rules hold for both. Throws on a wrong
/// kind of value and on an unknown key.
std::string conf_line(const json& entry,
                      const std::vector<std::pair<const char*, const char*>>& keys) {
  std::string line;
  for (const auto& [key, value] : entry.items()) {
    const auto known =
        std::find_if(keys.begin(), keys.end(), [&](const auto& each) { return key == each.first; });
    if (known == keys.end()) throw std::invalid_argument(fmt::format("\"{}\" is no key here", key));
    std::string text;
    if (value.is_boolean()) {
      text = value.get<bool>() ? "YES" : "NO";
    } else if (value.is_number_unsigned()) {
      text = fmt::format("{}", value.get<std::uint64_t>());
    } else {
      text = value.get<std::string>();
    }
    if (text.find_first_of(" \t\"\n#") != std::string::npos)
      throw std::invalid_argument(fmt::format("\"{}\": \"{}\": no spaces and quotes", key, text));
    line += fmt::format(" {}{}", known->second, text);
  }
  return line + "\n";
}

}  // namespace

Result<sim::Machine> read_machine_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(fmt::format("{}: {}", path, std::strerror(errno)));
  std::string text;
  try {
    const json machine = json::parse(file);
    for (const json& node : machine.at("nodes"))
      text += conf_line(node, {{"names", "NodeName="},
                               {"cores", "CPUs="},
                               {"memory_mb", "RealMemory="},
                               {"gpus", "Gres=gpu:"}});
    for (const json& partition : machine.value("partitions", json::array()))
      text += conf_line(partition,
                        {{"name", "PartitionName="}, {"nodes", "Nodes="}, {"default", "Default="}});
  } catch (const std::exception& error) {
    return fail(fmt::format("{}: {}", path, error.what()));
  }
  return sim::machine_of_scontrol(text, path);
}

Result<sim::Machine> ask_scontrol() {
  constexpr const char* kCommand =
      "scontrol --oneliner show nodes 2>&1 && scontrol --oneliner show partitions 2>&1";
  std::FILE* pipe = popen(kCommand, "r");
  if (pipe == nullptr) return fail(fmt::format("scontrol: {}", std::strerror(errno)));
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe))
    text.append(piece.data(), count);
  if (pclose(pipe) != 0) return fail(fmt::format("scontrol: {}", text.substr(0, text.find('\n'))));
  return sim::machine_of_scontrol(text, "scontrol");
}

}  // namespace market::smarket

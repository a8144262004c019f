# SPDX-License-Identifier: GPL-2.0-or-later
# Debian packages, made by `cpack` in the build tree:
#   slurm-market-slurmctld  the plugins of slurmctld; they fit one release of Slurm alone, which the package demands
#   slurm-market-select     select/cons_tres_market, for every host whose programs load it (README.md)
#   slurm-market-client     smarket, sbill and the SPANK plugin, for every host where people submit
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME slurm-market)
set(CPACK_PACKAGE_CONTACT "slurm-market maintainers <maintainers@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "An economy inside Slurm: bids, prices, bills")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL slurmctld client select)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libslurm_market.so lies beside the plugins that need it.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/plugins)

if(SLURM_VERSION MATCHES "^([0-9]+)\\.([0-9]+)\\.([0-9]+)")
  math(EXPR next_micro "${CMAKE_MATCH_3} + 1")
  set(next "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${next_micro}~")
  set(CPACK_DEBIAN_SLURMCTLD_PACKAGE_DEPENDS "slurmctld (>= ${CMAKE_MATCH_0}), slurmctld (<< ${next})")
  set(CPACK_DEBIAN_SELECT_PACKAGE_DEPENDS "slurm-client (>= ${CMAKE_MATCH_0}), slurm-client (<< ${next})")
  set(CPACK_DEBIAN_CLIENT_PACKAGE_DEPENDS "slurm-client (>= ${CMAKE_MATCH_0}), slurm-client (<< ${next})")
endif()
include(CPack)

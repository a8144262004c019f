# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's internal headers, for plugins of the slurmctld that is installed here.
#
#   slurm_headers(<target>)
#     Makes an interface library with the include folders and definitions, and sets in the caller's scope
#     SLURM_VERSION ("22.05.8") and SLURM_PLUGIN_DIR (where the distribution keeps Slurm's plugins).
#     The headers come from SLURM_SOURCE_DIR, or else, with SLURM_MARKET_FETCH_HEADERS, from the distribution's source
#     package, which is unpacked into the build tree; a second configure uses what is there.

function(slurm_installed_version out)
  find_program(SLURMCTLD_PROGRAM slurmctld PATHS /usr/sbin /usr/local/sbin)
  if(NOT SLURMCTLD_PROGRAM)
    message(FATAL_ERROR "slurmctld is not installed: install slurmctld, or configure with -DSLURM_MARKET_PLUGINS=OFF")
  endif()
  execute_process(COMMAND ${SLURMCTLD_PROGRAM} -V OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT text MATCHES "([0-9]+\\.[0-9]+\\.[0-9]+[^ ]*)$")
    message(FATAL_ERROR "${SLURMCTLD_PROGRAM} -V does not tell its version: ${text}")
  endif()
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

# Copies the configured apt sources that may carry Slurm into `folder`, as source package entries: deb822 files and
# one-line lists, whatever they are called; the system's own files stay as they are.
function(slurm_write_apt_sources folder)
  file(REMOVE_RECURSE ${folder})
  file(MAKE_DIRECTORY ${folder})
  file(GLOB deb822 /etc/apt/sources.list.d/*.sources)
  foreach(source ${deb822})
    get_filename_component(name ${source} NAME)
    file(READ ${source} text)
    string(REGEX REPLACE "(^|\n)Types:[^\n]*" "\\1Types: deb-src" text "${text}")
    file(WRITE ${folder}/${name} "${text}")
  endforeach()
  file(GLOB lists /etc/apt/sources.list /etc/apt/sources.list.d/*.list)
  foreach(source ${lists})
    get_filename_component(name ${source} NAME_WE)
    file(STRINGS ${source} lines REGEX "^[ \t]*deb(-src)?[ \t]")
    list(TRANSFORM lines REPLACE "^[ \t]*deb(-src)?[ \t]" "deb-src ")
    list(REMOVE_DUPLICATES lines)
    list(JOIN lines "\n" text)
    file(WRITE ${folder}/${name}-lines.list "${text}\n")
  endforeach()
endfunction()

# Unpacks the upstream tarball alone, which has one folder at its top, into `tree`: a mirror may lack the distribution's own
# part of a source package. Were a header patched there, the checked sizes of Slurm's structures would tell.
function(slurm_unpack_original tarball tree)
  message(STATUS "Taking the headers from ${tarball}: the rest of the source package cannot be had")
  file(ARCHIVE_EXTRACT INPUT ${tarball} DESTINATION ${tree}.unpacked)
  file(GLOB top ${tree}.unpacked/*)
  file(RENAME ${top} ${tree})
  file(REMOVE_RECURSE ${tree}.unpacked)
endfunction()

# Unpacks the source package of the installed slurmctld into `tree`, or what of it can be had. A repository that cannot be
# read is skipped: what counts is whether one of them has the package.
function(slurm_fetch_source tree)
  set(work ${CMAKE_BINARY_DIR}/slurm-headers/apt)
  slurm_write_apt_sources(${work}/sources)
  file(MAKE_DIRECTORY ${work}/lists/partial ${work}/cache/archives/partial ${work}/download)
  set(options -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=${work}/sources -o Dir::State::lists=${work}/lists
              -o Dir::Cache=${work}/cache -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User=)
  find_program(DPKG_QUERY_PROGRAM dpkg-query REQUIRED)
  find_program(APT_GET_PROGRAM apt-get REQUIRED)
  find_program(DPKG_SOURCE_PROGRAM dpkg-source REQUIRED)
  execute_process(COMMAND ${DPKG_QUERY_PROGRAM} -W -f "\${source:Package}=\${source:Version}" slurmctld
                  OUTPUT_VARIABLE package RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "slurmctld does not come from a package: give its sources with -DSLURM_SOURCE_DIR=…")
  endif()
  message(STATUS "Fetching the source package ${package} for its headers")
  execute_process(COMMAND ${APT_GET_PROGRAM} ${options} -qq update OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND ${APT_GET_PROGRAM} ${options} -qq source --download-only ${package}
                  WORKING_DIRECTORY ${work}/download RESULT_VARIABLE status ERROR_VARIABLE error OUTPUT_QUIET)
  file(REMOVE_RECURSE ${tree})
  file(GLOB description ${work}/download/*.dsc)
  file(GLOB original ${work}/download/*.orig.tar.*)
  list(FILTER original EXCLUDE REGEX "\\.asc$")
  if(status EQUAL 0 AND description)
    execute_process(COMMAND ${DPKG_SOURCE_PROGRAM} --no-check -x ${description} ${tree} RESULT_VARIABLE status
                    ERROR_VARIABLE error OUTPUT_QUIET)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "dpkg-source cannot unpack ${description}\n${error}")
    endif()
  elseif(original)
    slurm_unpack_original(${original} ${tree})
  else()
    message(FATAL_ERROR "apt cannot get the source package ${package}; give Slurm's sources with "
                        "-DSLURM_SOURCE_DIR=…\n${error}")
  endif()
endfunction()

# Sets MAJOR, MINOR, MICRO and VERSION from the tree's META.
macro(slurm_read_meta tree)
  file(STRINGS ${tree}/META meta REGEX "^[ \t]*(Major|Minor|Micro|Version):")
  foreach(line ${meta})
    if(line MATCHES "(Major|Minor|Micro|Version):[ \t]*([^ \t]+)")
      string(TOUPPER ${CMAKE_MATCH_1} key)
      set(${key} ${CMAKE_MATCH_2})
    endif()
  endforeach()
  if(NOT MAJOR OR NOT VERSION)
    message(FATAL_ERROR "${tree} is not a Slurm source tree: no version in META")
  endif()
endmacro()

function(slurm_headers target)
  slurm_installed_version(installed)
  if(SLURM_SOURCE_DIR)
    set(tree ${SLURM_SOURCE_DIR})
  else()
    set(tree ${CMAKE_BINARY_DIR}/slurm-headers/slurm-${installed})
    if(NOT EXISTS ${tree}/META)
      if(NOT SLURM_MARKET_FETCH_HEADERS)
        message(FATAL_ERROR "The plugins need the headers of Slurm ${installed}: name its source tree with "
                            "-DSLURM_SOURCE_DIR=…, or let apt fetch its source package with "
                            "-DSLURM_MARKET_FETCH_HEADERS=ON; -DSLURM_MARKET_PLUGINS=OFF builds without them")
      endif()
      slurm_fetch_source(${tree})
    endif()
  endif()
  if(NOT EXISTS ${tree}/META)
    message(FATAL_ERROR "${tree} is not a Slurm source tree")
  endif()
  slurm_read_meta(${tree})
  if(NOT VERSION STREQUAL installed)
    message(FATAL_ERROR "Slurm's headers in ${tree} are of ${VERSION}, the installed slurmctld is ${installed}: "
                        "a plugin must be built for exactly the slurmctld that loads it")
  endif()
  # Each part of the version is one byte of the number.
  math(EXPR number "(${MAJOR} << 16) + (${MINOR} << 8) + ${MICRO}" OUTPUT_FORMAT HEXADECIMAL)
  set(generated ${CMAKE_BINARY_DIR}/slurm-headers/generated)
  set(SLURM_NUMBER ${number})
  configure_file(${CMAKE_SOURCE_DIR}/cmake/slurm_config.h.in ${generated}/config.h @ONLY)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/slurm_version.h.in ${generated}/slurm/slurm_version.h @ONLY)

  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${generated} ${tree})
  file(GLOB plugin_dirs /usr/lib/*/slurm-wlm /usr/lib/slurm-wlm /usr/lib/*/slurm /usr/lib64/slurm)
  foreach(dir ${plugin_dirs})
    if(EXISTS ${dir}/priority_multifactor.so)
      set(plugin_dir ${dir})
      break()
    endif()
  endforeach()
  if(NOT plugin_dir)
    message(FATAL_ERROR "priority_multifactor.so is nowhere below /usr/lib: install Slurm's basic plugins")
  endif()
  set(SLURM_VERSION ${VERSION} PARENT_SCOPE)
  set(SLURM_PLUGIN_DIR ${plugin_dir} PARENT_SCOPE)
endfunction()

# SPDX-License-Identifier: GPL-2.0-or-later
# Puts the parts in SOURCE and the library in UPLOT together to one page and writes it as C++ into OUTPUT.
set(page "")
if(UPLOT)
  file(READ ${SOURCE}/page.html page)
  file(READ ${UPLOT}/uPlot.min.css chart_style)
  file(READ ${UPLOT}/uPlot.iife.min.js chart_script)
  file(READ ${SOURCE}/page.css style)
  set(script "")
  foreach(part page charts plan tables)
    file(READ ${SOURCE}/${part}.js text)
    string(APPEND script "${text}")
  endforeach()
  string(FIND "${chart_script}${script}" "</script" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "a script of the page would end its own element")
  endif()
  foreach(part chart_style style chart_script script)
    string(REPLACE "{{${part}}}" "${${part}}" page "${page}")
  endforeach()
endif()
file(WRITE ${OUTPUT}.page "${page}")
file(READ ${OUTPUT}.page bytes HEX)
file(SIZE ${OUTPUT}.page size)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "// Written by the build.
extern const char kReportPage[];
extern const unsigned long kReportPageSize;
const char kReportPage[] = {${bytes}0};
const unsigned long kReportPageSize = ${size};
")

# A room is one static library; a test of a room is one executable and one CTest entry.

# banyan_room(NAME SOURCES ... DEPENDS ... [PRIVATE ...])
# DEPENDS are the rooms and libraries that the room's headers show, PRIVATE those only its sources use.
function(banyan_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(banyan_${name} STATIC ${ARG_SOURCES})
  target_include_directories(banyan_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(banyan_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
endfunction()

# banyan_test(NAME SOURCES ... DEPENDS ... [VARIANTS ...] [LABELS ...] [TIMEOUT seconds])
# VARIANTS: an entry x_<variant>_test of x_test for each of these sets of the CPU's instructions instead of one; a set that the
# machine does not run shows as skipped. LABELS: "fast" for what `./dev test fast` runs.
function(banyan_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;VARIANTS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest GTest::gtest_main)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set(environment "BANYAN_TESTDATA=${CMAKE_SOURCE_DIR}/tests")
  if(NOT ARG_VARIANTS)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}" ENVIRONMENT "${environment}")
  endif()
  foreach(variant ${ARG_VARIANTS})
    string(REGEX REPLACE "_test$" "_${variant}_test" entry ${name})
    add_test(NAME ${entry} COMMAND ${name})
    set_tests_properties(${entry} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
      ENVIRONMENT "${environment};BANYAN_TEST_CPU_VARIANT=${variant}"
      SKIP_REGULAR_EXPRESSION "this machine does not run ${variant}")
  endforeach()
endfunction()

# Flags of every target of the project. Warnings are errors. The warnings that are switched off, with the reasons:
# - missing-field-initializers: designated initializers leave members to their default initializers on purpose.
# - array-bounds, stringop-*, restrict, maybe-uninitialized: g++ 12 reports overruns inside its own vector and string
#   where there are none.
# - deprecated-declarations: libstdc++'s stable_sort uses a function that C++17 deprecated, and clang reports that.
# - sign-conversion: clang includes it in -Wconversion; g++ does not, so neither checks it.
add_library(clr_flags INTERFACE)
target_compile_options(clr_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
                       -Wno-missing-field-initializers -Werror
                       $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations -Wno-sign-conversion>
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict -Wno-maybe-uninitialized>)
target_include_directories(clr_flags INTERFACE ${PROJECT_SOURCE_DIR})
# The presets compile several sources as one, which takes a third of the time. Then g++ warns as if a source were a header
# (subobject-linkage), and clang warns that a local name hides a name of another source (shadow).
if(CMAKE_UNITY_BUILD)
  target_compile_options(clr_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage> $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
  # A compiler takes up to 1.3 GB for that: no more of them run at once than memory is free for.
  cmake_host_system_information(RESULT free_megabytes QUERY AVAILABLE_PHYSICAL_MEMORY)
  math(EXPR compilers "${free_megabytes} / 1300")
  if(compilers LESS 1)
    set(compilers 1)
  endif()
  set_property(GLOBAL PROPERTY JOB_POOLS compilers=${compilers})
  set(CMAKE_JOB_POOL_COMPILE compilers)
endif()
if(CLR_SANITIZE)
  target_compile_options(clr_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(clr_flags INTERFACE -fsanitize=address,undefined)
endif()
if(CLR_SANITIZE_THREAD)
  target_compile_options(clr_flags INTERFACE -fsanitize=thread)
  target_link_options(clr_flags INTERFACE -fsanitize=thread)
endif()
if(CLR_COVERAGE)
  target_compile_options(clr_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(clr_flags INTERFACE -fprofile-instr-generate)
endif()

# clr_room(NAME DEPENDS LIB...): the static library clr_NAME of all sources in core/NAME and its folders.
function(clr_room name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/${name}/*.cpp)
  if(sources)
    add_library(clr_${name} STATIC ${sources})
    target_link_libraries(clr_${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:clr_flags>)
    target_include_directories(clr_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    if(CLR_FUZZ) # only what is looked for ways through is counted: tests compile faster without it
      target_compile_options(clr_${name} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    if(CLR_SANITIZE) # suites and fuzz targets take half of the time, which is more than the compiler takes longer
      target_compile_options(clr_${name} PRIVATE $<$<CONFIG:Debug>:-O1>)
    endif()
    set_property(GLOBAL APPEND PROPERTY CLR_ROOMS clr_${name})
  else()
    add_library(clr_${name} INTERFACE)
    target_link_libraries(clr_${name} INTERFACE ${ARG_DEPENDS})
  endif()
endfunction()

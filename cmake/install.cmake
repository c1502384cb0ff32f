# The files that are installed. Below the prefix, with Debian's names of folders:
#   lib/liblldb-clr.so                   the plugin                                    component plugin
#   lib/libclr.so.N                      the C interface                               component library
#   lib/lldb-clr/python/lldb_clr         the Python package, which looks for both      component python
#                                        libraries two folders up
#   include/lldb_clr.h, lib/libclr.so    for programs that use the C interface         component development
#   include/lldb-clr/core, lib/liblldb-clr-core.a,                                     component development
#   lib/cmake/lldb-clr, lib/pkgconfig    for C++ programs
#   share/doc/lldb-clr/LICENSE
#
# Headers of core include each other from the root of the sources ("core/memory/error.h"), and so do programs: the folder
# include/lldb-clr is on their path, and the same line works against an installed core and against this tree.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# One archive of all rooms. Which rooms there are, and who links whom, is then nobody's business outside.
get_property(rooms GLOBAL PROPERTY CLR_ROOMS)
list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(clr_core_archive STATIC ${objects})
set_target_properties(clr_core_archive PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME lldb-clr-core EXPORT_NAME core
                                                  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_features(clr_core_archive INTERFACE cxx_std_23)
# The names that the package's configuration finds them by. fmt is the system's here, not the copy within the plugin: a
# program that uses fmt itself shall have it once.
target_link_libraries(clr_core_archive INTERFACE
  $<INSTALL_INTERFACE:fmt::fmt> $<INSTALL_INTERFACE:nlohmann_json::nlohmann_json> $<INSTALL_INTERFACE:ZLIB::ZLIB>
  $<INSTALL_INTERFACE:PkgConfig::lldb_clr_libraries> $<INSTALL_INTERFACE:Threads::Threads>)

install(TARGETS clr_core_archive EXPORT lldb-clr-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lldb-clr)
install(TARGETS clr EXPORT lldb-clr-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lldb-clr/core COMPONENT development
        FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/include/lldb_clr.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/lldb_clr DESTINATION ${CMAKE_INSTALL_LIBDIR}/lldb-clr/python COMPONENT python
        PATTERN __pycache__ EXCLUDE)
if(TARGET lldb-clr)
  install(TARGETS lldb-clr LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT plugin)
endif()

# All that `cmake --install` wants: what somebody builds who does not want the tests.
add_custom_target(product DEPENDS clr_core_archive clr)
if(TARGET lldb-clr)
  add_dependencies(product lldb-clr)
endif()

# CMake: find_package(lldb-clr), targets lldb-clr::core and lldb-clr::clr.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lldb-clr)
install(EXPORT lldb-clr-targets NAMESPACE lldb-clr:: DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lldb-clr-config.cmake.in ${PROJECT_BINARY_DIR}/package/lldb-clr-config.cmake
                              INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before version 1 the classes of core change with every minor version.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/lldb-clr-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/lldb-clr-config.cmake ${PROJECT_BINARY_DIR}/package/lldb-clr-config-version.cmake
        DESTINATION ${package_folder} COMPONENT development)

# pkg-config: lldb-clr is the C interface, lldb-clr-core the C++ library. The folders are relative to the file, because
# `cmake --install --prefix` may name another prefix than the one that was configured.
set(pkgconfig_folder ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH clr_includedir ${pkgconfig_folder} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
foreach(name lldb-clr lldb-clr-core)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

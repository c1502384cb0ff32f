# Sourced by scripts/test and scripts/demo: installs what they need on Debian 12, as root or with sudo. Nothing is installed twice.

build_packages=(g++ cmake ninja-build pkg-config libfmt-dev catch2 nlohmann-json3-dev libelf-dev libdw-dev zlib1g-dev libmd-dev libcli11-dev libbenchmark-dev
                liblldb-19-dev lldb-19 python3 xz-utils)
# For the build with sanitizers, which takes g++ twice as long, and ld four times.
sanitize_packages=(clang-19 libclang-rt-19-dev lld-19)
# Reads the counts of lines that the fuzz targets run: scripts/fuzz --coverage.
coverage_packages=(llvm-19)
# Versions by name: another version formats, and finds, other things.
tidy_packages=(clang-19 clang-tidy-19)
format_packages=(clang-format-14)
# The Python modules of LLDB 14 and 15 want six.
python_packages=(python3-six mypy)
# For the hostile cores: which files LLDB opens.
hostile_packages=(strace)
# For the live tests: cores of processes, musl, and arm64 under user-mode emulation.
live_packages=(gdb python3-six musl qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross)

# Shows the pages of `clr report`: the smaller build of Chromium, and letters of a known width.
page_packages=(chromium-headless-shell fonts-dejavu-core)

# need_packages NAME...: true when all are installed afterwards.
need_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "missing packages: ${missing[*]} (not root, and no sudo)" >&2; return 1; }
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

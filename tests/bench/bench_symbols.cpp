// Compares symbol tables with the code that they replace, in one run (Google Benchmark):
//   bench_symbols
// Naming 3,000 samples over 100,000 debug records: the table against two linear passes per sample, one for
// the function and one for the file. (The proposal for sorted symbol files, ros-dev, January 2005, found
// these passes in the kernel's profiler.) A million samples over a million entries. Loading: a mapped .sym
// file against parsing the text. The last lines are the ratios.
#include "core/symbols/perf_map.h"
#include "core/symbols/symbol_table_builder.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <unistd.h>

namespace {

using namespace clr;

// A debug record of the old files: one kind of fact about an address each.
struct Record {
  std::uint32_t name = 0;
  std::uint8_t type = 0;
  std::uint16_t line = 0;
  std::uint32_t address = 0;
};
constexpr std::uint8_t function_record = 0x24, line_record = 0x44, file_record = 0x64;

struct Seed {
  static constexpr std::size_t record_count = 100'000, sample_count = 3'000;

  static constexpr std::uint32_t longest_function = 0x1000;

  std::vector<Record> records;
  std::vector<std::string> names;
  std::vector<std::uint64_t> samples;
  std::shared_ptr<const SymbolTable> table;

  Seed() {
    SymbolTableBuilder builder(SymbolSpace::image);
    std::mt19937 random(1);
    std::uint32_t address = 0x1000;
    std::string function, file;
    // A file has 200 records, a function 10, the others are lines.
    for (std::size_t i = 0; i < record_count; ++i) {
      const auto size = static_cast<std::uint32_t>(4 + random() % 28);
      if (i % 200 == 0) {
        file = fmt::format("ntoskrnl/ke/file{}.c", i / 200);
        names.push_back(file);
        records.push_back({static_cast<std::uint32_t>(names.size() - 1), file_record, 0, address});
      } else if (i % 10 == 1) {
        function = fmt::format("KeFunctionNumber{}", i);
        names.push_back(function);
        records.push_back({static_cast<std::uint32_t>(names.size() - 1), function_record, 0, address});
        builder.add(address, longest_function, function); // up to the next one
      } else {
        records.push_back({0, line_record, static_cast<std::uint16_t>(i % 5000), address});
        if (!function.empty()) builder.add_line(address, size, file, static_cast<std::uint32_t>(i % 5000));
        address += size;
      }
    }
    table = builder.build();
    for (std::size_t i = 0; i < sample_count; ++i)
      samples.push_back(0x1100 + static_cast<std::uint32_t>(random() % (address - 0x1200)));
  }

  const Record* floor_of(std::uint64_t sample, std::uint8_t type) const {
    const Record* best = nullptr;
    for (const Record& record : records)
      if (record.type == type && record.address <= sample &&
          (best == nullptr || record.address >= best->address))
        best = &record;
    return best;
  }

  // The two ways say the same.
  void verify() const {
    for (const std::uint64_t sample : samples) {
      const auto symbol = table->find(sample);
      const Record *function = floor_of(sample, function_record), *file = floor_of(sample, file_record);
      if (!symbol || symbol->function != names[function->name] || symbol->file != names[file->name]) {
        std::fputs(fmt::format("the table and the linear search disagree at {:#x}\n", sample).c_str(),
                   stderr);
        std::exit(1);
      }
    }
  }
};

const Seed& seed() {
  static const Seed made;
  return made;
}

// A perf map of a runtime's notation, and what comes of it.
struct Large {
  std::string text;
  std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("bench_symbols-{}.sym", ::getpid())).string();
  std::shared_ptr<const SymbolTable> table;
  std::vector<std::uint64_t> samples;

  explicit Large(std::size_t entries) {
    std::mt19937_64 random(entries);
    std::uint64_t address = 0x7f12'0000'0000;
    std::vector<std::uint64_t> starts;
    for (std::size_t i = 0; i < entries; ++i) {
      const std::uint64_t size = 16 + random() % 400;
      text += fmt::format("{:#x} {:x} instance void [System.Private.CoreLib] "
                          "System.Name{}.Type{}::Method{}(int32,string)[OptimizedTier1]\n",
                          address, size, i % 100, i % 5000, i);
      starts.push_back(address);
      address += (size + 31) / 32 * 32;
    }
    table = read_perf_map(std::as_bytes(std::span(text)), "bench").symbols;
    table->save(path);
    for (std::size_t i = 0; i < entries; ++i)
      samples.push_back(starts[random() % starts.size()] + random() % 16);
  }
  Large(const Large&) = delete;
  Large& operator=(const Large&) = delete;
  ~Large() { std::remove(path.c_str()); }
};

const Large& large(std::size_t entries) {
  static std::map<std::size_t, Large> made;
  return made.try_emplace(entries, entries).first->second;
}

void seed_linear(benchmark::State& state) {
  const Seed& data = seed();
  for (auto round : state)
    for (const std::uint64_t sample : data.samples) {
      benchmark::DoNotOptimize(data.floor_of(sample, function_record));
      benchmark::DoNotOptimize(data.floor_of(sample, file_record));
    }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * Seed::sample_count));
}

void seed_table(benchmark::State& state) {
  const Seed& data = seed();
  for (auto round : state)
    for (const std::uint64_t sample : data.samples) benchmark::DoNotOptimize(data.table->find(sample));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * Seed::sample_count));
}

// All samples in one call, then the names.
void seed_table_at_once(benchmark::State& state) {
  const Seed& data = seed();
  std::vector<std::uint32_t> entries(data.samples.size());
  for (auto round : state) {
    data.table->index_all(data.samples, entries);
    for (const std::uint32_t entry : entries)
      if (entry != SymbolTable::no_entry) benchmark::DoNotOptimize((*data.table)[entry]);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * Seed::sample_count));
}

void many_find(benchmark::State& state) {
  const Large& data = large(static_cast<std::size_t>(state.range(0)));
  for (auto round : state)
    for (const std::uint64_t sample : data.samples) benchmark::DoNotOptimize(data.table->find(sample));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void many_count(benchmark::State& state) {
  const Large& data = large(static_cast<std::size_t>(state.range(0)));
  std::vector<std::uint32_t> counts(data.table->size());
  std::vector<std::uint32_t> entries(data.samples.size());
  for (auto round : state) {
    data.table->index_all(data.samples, entries);
    for (const std::uint32_t entry : entries)
      if (entry != SymbolTable::no_entry) ++counts[entry];
  }
  benchmark::DoNotOptimize(counts.data());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void load_text(benchmark::State& state) {
  const Large& data = large(static_cast<std::size_t>(state.range(0)));
  for (auto round : state)
    benchmark::DoNotOptimize(read_perf_map(std::as_bytes(std::span(data.text)), "bench"));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(data.text.size()));
}

void load_sym(benchmark::State& state) {
  const Large& data = large(static_cast<std::size_t>(state.range(0)));
  for (auto round : state) benchmark::DoNotOptimize(SymbolTable::open(data.path));
}

// The times of all runs, for the ratios.
class Reporter final : public benchmark::ConsoleReporter {
public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (!run.error_occurred)
        times_[run.benchmark_name()] = run.cpu_accumulated_time / static_cast<double>(run.iterations);
    ConsoleReporter::ReportRuns(runs);
  }

  void print_ratio(const char* what, const char* slow, const char* fast) const {
    const auto a = times_.find(slow), b = times_.find(fast);
    if (a != times_.end() && b != times_.end())
      std::fputs(fmt::format("{:<62} {:>10.0f} times\n", what, a->second / b->second).c_str(), stdout);
  }

private:
  std::map<std::string, double> times_; // seconds of CPU: other work on the machine counts for neither
};

BENCHMARK(seed_linear)->Unit(benchmark::kMillisecond)->Iterations(3);
BENCHMARK(seed_table)->Unit(benchmark::kMicrosecond);
BENCHMARK(seed_table_at_once)->Unit(benchmark::kMicrosecond);
BENCHMARK(many_find)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(many_count)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(load_text)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(load_sym)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

} // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  seed().verify();
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_ratio("3,000 samples over 100,000 records: linear / table", "seed_linear/iterations:3",
                       "seed_table");
  reporter.print_ratio("the same, all samples in one call", "seed_linear/iterations:3", "seed_table_at_once");
  reporter.print_ratio("100,000 entries: text parsed / .sym mapped", "load_text/100000", "load_sym/100000");
  reporter.print_ratio("1,000,000 entries: text parsed / .sym mapped", "load_text/1000000",
                       "load_sym/1000000");
  return 0;
}

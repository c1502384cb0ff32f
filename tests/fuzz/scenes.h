// Scenes: sound runtimes in memory of which an input changes some words. Random bytes never make a runtime,
// and a damaged one is what a core brings: so the input is a list of edits, and everything else is as a real
// runtime or the builders of the tests made it.
//
// An input: the number of the scene, the number of the part that is asked, then edits of 17 bytes each: the
// kind, the place and the value, both little-endian. The mutator knows the words that a part reads of its
// scene, and mostly changes those: to others of them, to their addresses, to counts that lie. Inputs hold
// addresses and not the numbers of words, so that they mean the same when the product reads in another way.
// Some edits change the descriptor instead: other generations of the runtime lack fields or have new
// contracts.
#pragma once

#include "core/target/target.h"
#include "tests/fuzz/attempt.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace clr::fuzz {

struct Edit {
  static constexpr std::size_t size_in_input = 17;
  static constexpr std::uint8_t of_descriptor = 16;

  // 1, 2, 4 or 8: bytes that are replaced. of_descriptor: `at` is the hash of an entry's name, which gets
  // `value`, or is taken out when that is 0. Any other: `value` bytes are missing.
  std::uint8_t width = 8;
  Address at = 0;
  std::uint64_t value = 0; // replaces them, in the scene's byte order

  bool in_memory() const { return width != of_descriptor; }
  bool is_hole() const { return in_memory() && width != 1 && width != 2 && width != 4 && width != 8; }
  std::uint64_t length() const; // of an edit in memory

  static constexpr std::uint64_t longest_hole = 64 * 1024;
};

// Sound memory with edits on top.
class EditedMemory final : public MemoryReader {
public:
  EditedMemory(MemoryReader& sound, std::vector<Edit> edits, ByteOrder order);

  std::size_t read_some(Address address, std::span<std::byte> out) override;
  std::span<const std::byte> view(Address address, std::size_t size) override;

private:
  MemoryReader* sound_;
  std::vector<Edit> edits_;
  ByteOrder order_;
};

// The number by which an edit finds an entry of a descriptor: "Type.Field", "Type", a global or a contract.
std::uint64_t entry_hash(std::string_view name);

// The names of all entries that edits can change.
std::vector<std::string> entries_of(const ContractDescriptor& descriptor);

// `sound` with the edits that are of_descriptor.
ContractDescriptor edited(const ContractDescriptor& sound, const std::vector<Edit>& edits);

// A runtime, and the questions that a target asks of it.
class Scene {
public:
  Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  virtual ~Scene() = default;

  MemoryReader& sound() const { return *sound_; }
  const ContractDescriptor& descriptor() const { return descriptor_; }
  const Platform& platform() const { return platform_; }

  // The questions come in parts, so that one input takes some milliseconds.
  virtual unsigned parts() const = 0;
  // Everything that part `part` asks of the runtime `target`, which is the sound one or an edited one. An
  // Error is an answer, too. Anything that must hold for every memory is checked.
  virtual void ask(const Target& target, unsigned part) = 0;
  // Damage that chance finds late or never, with which mutation begins, too.
  struct Damage {
    std::string name;
    unsigned part = 0;
    std::vector<Edit> edits; // the first Stage::max_edits count
  };
  virtual std::vector<Damage> damages() { return {}; }

protected:
  // For constructors, when the sound runtime is complete. It must live as long as the scene.
  void set_up(MemoryReader& sound, ContractDescriptor descriptor, const Platform& platform);

private:
  MemoryReader* sound_ = nullptr;
  ContractDescriptor descriptor_;
  Platform platform_;
};

// The scenes of a target; each fuzz_TARGET.cpp that has scenes defines it.
std::vector<std::unique_ptr<Scene>> make_scenes();

// What libFuzzer calls, for the scenes of this program.
class Stage {
public:
  static Stage& get();

  void run(std::span<const std::uint8_t> input);
  // An input for each part of each scene, without edits; the damages that it names; some whose contracts have
  // a version which nobody knows; and some of the first scene with a field that lies far from the others of
  // its type.
  void write_seeds(const std::filesystem::path& folder) const;
  std::size_t mutate(std::span<std::uint8_t> buffer, std::size_t size, unsigned seed);
  std::size_t cross(std::span<const std::uint8_t> one, std::span<const std::uint8_t> other,
                    std::span<std::uint8_t> out, unsigned seed);

  static constexpr std::size_t max_edits = 32;

private:
  struct Play; // an input, parsed
  struct Words;
  Stage();
  ~Stage();
  Play parse(std::span<const std::uint8_t> input) const;
  static std::size_t write(const Play& play, std::span<std::uint8_t> out);
  const Words& words_of(unsigned scene, unsigned part);
  void ask(unsigned scene, unsigned part, MemoryReader& memory, const std::vector<Edit>& edits);
  Edit new_edit(const Words& words);
  Edit new_entry(unsigned scene);
  std::uint64_t new_value(const Words& words, Address at);
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  std::vector<std::unique_ptr<Scene>> scenes_;
  std::map<std::pair<unsigned, unsigned>, std::unique_ptr<Words>> words_; // by scene and part
  std::minstd_rand random_;
};

// Ends the program when `fact` does not hold.
void require(bool fact, const char* what);

} // namespace clr::fuzz

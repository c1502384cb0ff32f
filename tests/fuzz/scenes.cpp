#include "tests/fuzz/scenes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace clr::fuzz {
namespace {

constexpr std::size_t head_bytes = 2; // scene and part

std::uint64_t load_little(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

void store_little(std::uint64_t value, std::span<std::uint8_t> bytes) {
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// Remembers which parts of memory were read.
class ReadsReader final : public MemoryReader {
public:
  explicit ReadsReader(MemoryReader& next) : next_(&next) {}
  // Lends nothing: what is read of lent bytes would be invisible.
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    const std::size_t got = next_->read_some(address, out);
    if (got != 0) reads.emplace(address, got);
    return got;
  }
  std::set<std::pair<Address, std::size_t>> reads;

private:
  MemoryReader* next_;
};

} // namespace

void require(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "ERROR: this must hold, whatever the memory: %s\n", what);
  std::abort();
}

// --- edits

std::uint64_t Edit::length() const {
  return is_hole() ? 1 + value % longest_hole : width;
}

EditedMemory::EditedMemory(MemoryReader& sound, std::vector<Edit> edits, ByteOrder order)
    : sound_(&sound), edits_(std::move(edits)), order_(order) {}

std::size_t EditedMemory::read_some(Address address, std::span<std::byte> out) {
  std::size_t got = sound_->read_some(address, out);
  for (const Edit& edit : edits_) {
    if (!edit.in_memory()) continue;
    // Distances wrap around, as addresses do.
    const std::uint64_t ahead = edit.at - address, behind = address - edit.at;
    if (ahead >= got && behind >= edit.length()) continue;
    if (edit.is_hole()) {
      got = std::min<std::uint64_t>(got, behind < edit.length() ? 0 : ahead);
      continue;
    }
    for (unsigned i = 0; i < edit.width; ++i) {
      const std::uint64_t place = edit.at + i - address;
      if (place >= got) continue;
      const unsigned byte = order_ == ByteOrder::little ? i : edit.width - 1u - i;
      out[place] = static_cast<std::byte>(edit.value >> (8 * byte));
    }
  }
  return got;
}

std::span<const std::byte> EditedMemory::view(Address address, std::size_t size) {
  for (const Edit& edit : edits_)
    if (edit.in_memory() && (edit.at - address < size || address - edit.at < edit.length())) return {};
  return sound_->view(address, size);
}

// --- descriptors

std::uint64_t entry_hash(std::string_view name) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325; // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  return hash;
}

std::vector<std::string> entries_of(const ContractDescriptor& descriptor) {
  std::vector<std::string> names;
  for (const auto& [type, described] : descriptor.types) {
    names.push_back(type);
    for (const auto& [field, where] : described.fields) names.push_back(type + '.' + field);
  }
  for (const auto& [name, global] : descriptor.globals) names.push_back(name);
  for (const auto& [name, version] : descriptor.contracts) names.push_back(name);
  return names;
}

ContractDescriptor edited(const ContractDescriptor& sound, const std::vector<Edit>& edits) {
  ContractDescriptor made = sound;
  for (const Edit& edit : edits) {
    if (edit.in_memory()) continue;
    const auto is_meant = [&](std::string_view name) { return entry_hash(name) == edit.at; };
    const auto change = [&](auto& entries, auto&& set) {
      for (auto entry = entries.begin(); entry != entries.end();) {
        const bool meant = is_meant(entry->first);
        if (meant && edit.value != 0) set(entry->second);
        entry = meant && edit.value == 0 ? entries.erase(entry) : std::next(entry);
      }
    };
    for (auto& [type, described] : made.types)
      for (auto field = described.fields.begin(); field != described.fields.end();) {
        const bool meant = is_meant(type + '.' + field->first);
        if (meant) field->second.offset = static_cast<std::int64_t>(edit.value);
        field = meant && edit.value == 0 ? described.fields.erase(field) : std::next(field);
      }
    change(made.types, [&](TypeDescriptor& type) { type.size = static_cast<std::uint32_t>(edit.value); });
    change(made.globals, [&](GlobalDescriptor& global) { global.number = edit.value; });
    change(made.contracts, [&](std::string& version) { version = std::to_string(edit.value); });
  }
  return made;
}

void Scene::set_up(MemoryReader& sound, ContractDescriptor descriptor, const Platform& platform) {
  sound_ = &sound;
  descriptor_ = std::move(descriptor);
  platform_ = platform;
}

// --- inputs

struct Stage::Play {
  std::uint8_t scene = 0, part = 0;
  std::vector<Edit> edits;
};

// The words that a part reads of its sound scene.
struct Stage::Words {
  std::vector<std::pair<Address, std::size_t>> records; // reads of a pointer up to a large structure
  std::vector<Address> all;                             // ascending
  std::vector<std::uint64_t> values;                    // what these hold
};

Stage& Stage::get() {
  static Stage stage;
  return stage;
}

Stage::Stage() : scenes_(make_scenes()) {}
Stage::~Stage() = default;

Stage::Play Stage::parse(std::span<const std::uint8_t> input) const {
  Play play;
  if (!input.empty()) play.scene = static_cast<std::uint8_t>(input[0] % scenes_.size());
  if (input.size() > 1) play.part = static_cast<std::uint8_t>(input[1] % scenes_[play.scene]->parts());
  for (std::size_t at = head_bytes; at + Edit::size_in_input <= input.size() && play.edits.size() < max_edits;
       at += Edit::size_in_input)
    play.edits.push_back({.width = input[at],
                          .at = load_little(input.subspan(at + 1, 8)),
                          .value = load_little(input.subspan(at + 9, 8))});
  return play;
}

std::size_t Stage::write(const Play& play, std::span<std::uint8_t> out) {
  std::size_t size = 0;
  if (out.size() < head_bytes) return 0;
  out[size++] = play.scene;
  out[size++] = play.part;
  for (const Edit& edit : play.edits) {
    if (size + Edit::size_in_input > out.size()) break;
    out[size] = edit.width;
    store_little(edit.at, out.subspan(size + 1, 8));
    store_little(edit.value, out.subspan(size + 9, 8));
    size += Edit::size_in_input;
  }
  return size;
}

void Stage::write_seeds(const std::filesystem::path& folder) const {
  std::vector<std::uint8_t> bytes(head_bytes + max_edits * Edit::size_in_input);
  const auto save = [&](const std::string& name, const Play& play) {
    const std::size_t size = write(play, bytes);
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
  };
  constexpr std::uint64_t unknown_versions[] = {3, 99}; // one that others have, and one that none has
  constexpr std::uint64_t far_away = 0x1'0000;          // from all other fields
  constexpr unsigned most_described_parts = 8;          // that are asked with each entry missing
  for (std::size_t scene = 0; scene < scenes_.size(); ++scene) {
    Play play{.scene = static_cast<std::uint8_t>(scene)};
    for (; play.part < scenes_[scene]->parts(); ++play.part)
      save(std::to_string(scene) + '-' + std::to_string(play.part), play);
    for (const Scene::Damage& damage : scenes_[scene]->damages()) {
      play.part = static_cast<std::uint8_t>(damage.part);
      play.edits = damage.edits;
      save(std::to_string(scene) + '-' + damage.name, play);
    }
    play.part = 0;
    const auto with = [&](const std::string& name, std::uint64_t value) {
      play.edits = {{.width = Edit::of_descriptor, .at = entry_hash(name), .value = value}};
      save(std::to_string(scene) + '-' + name + '-' + std::to_string(value), play);
    };
    const ContractDescriptor& descriptor = scenes_[scene]->descriptor();
    for (const auto& [name, version] : descriptor.contracts)
      for (const std::uint64_t unknown : unknown_versions) with(name, unknown);
    if (scene != 0) continue;
    for (const auto& [name, type] : descriptor.types)
      if (!type.fields.empty()) with(name + '.' + type.fields.begin()->first, far_away);
    // Descriptors that lack an entry, and numbers and sizes that no runtime has.
    constexpr std::uint64_t gone = 0, unlikely = 99, small = 1;
    for (unsigned part = 0; part < std::min(scenes_[scene]->parts(), most_described_parts); ++part) {
      play.part = static_cast<std::uint8_t>(part);
      const std::string begin = "part" + std::to_string(part) + '-';
      const auto in_part = [&](const std::string& name, std::uint64_t value) {
        play.edits = {{.width = Edit::of_descriptor, .at = entry_hash(name), .value = value}};
        save(begin + name + '-' + std::to_string(value), play);
      };
      for (const std::string& name : entries_of(descriptor)) in_part(name, gone);
      for (const auto& [name, global] : descriptor.globals) in_part(name, unlikely);
      for (const auto& [name, type] : descriptor.types) in_part(name, small);
    }
  }
}

void Stage::run(std::span<const std::uint8_t> input) {
  const Play play = parse(input);
  const Scene& scene = *scenes_[play.scene];
  EditedMemory memory(scene.sound(), play.edits, scene.platform().byte_order);
  ask(play.scene, play.part, memory, play.edits);
}

void Stage::ask(unsigned scene, unsigned part, MemoryReader& memory, const std::vector<Edit>& edits) {
  Scene& asked = *scenes_[scene];
  const Target target(memory, edited(asked.descriptor(), edits), asked.platform());
  attempt([&] { asked.ask(target, part); });
}

// --- mutation

const Stage::Words& Stage::words_of(unsigned scene, unsigned part) {
  std::unique_ptr<Words>& words = words_[{scene, part}];
  if (words) return *words;
  words = std::make_unique<Words>();
  ReadsReader memory(scenes_[scene]->sound());
  ask(scene, part, memory, {});
  std::set<Address> all;
  for (const auto& [address, size] : memory.reads) {
    constexpr std::size_t smallest = 4, largest = 1024; // beyond these lie texts, tables and metadata
    if (size >= smallest && size <= largest) words->records.emplace_back(address, size);
    for (std::size_t at = 0; at < size && at < 64 * largest; at += 8) all.insert(address + at);
  }
  words->all.assign(all.begin(), all.end());
  for (const Address address : words->all) {
    std::array<std::byte, 8> bytes{};
    scenes_[scene]->sound().read_some(address, bytes);
    words->values.push_back(load<std::uint64_t>(bytes, scenes_[scene]->platform().byte_order));
  }
  return *words;
}

std::uint64_t Stage::new_value(const Words& words, Address at) {
  const auto any_word = [&] { return below(words.all.size()); };
  switch (below(10)) {
  case 0:
    return below(3);
  case 1:
    return ~std::uint64_t{0} - below(3);
  case 2:
    return std::uint64_t{1} << below(64);
  case 3:
    return random_() * std::uint64_t{random_()};
  case 4:
    return at - below(3) * 8; // a loop of one
  case 5:
    return words.all[any_word()];
  case 6:
    return words.all[any_word()] + below(64) - 32;
  case 7:
    return words.values[any_word()] + below(16) - 8;
  default:
    return words.values[any_word()];
  }
}

Edit Stage::new_entry(unsigned scene) {
  const std::vector<std::string> names = entries_of(scenes_[scene]->descriptor());
  if (names.empty()) return {.width = Edit::of_descriptor};
  // Globals and contracts stand at the end, and are few beside the fields.
  const ContractDescriptor& sound = scenes_[scene]->descriptor();
  const std::size_t few = sound.globals.size() + sound.contracts.size();
  const std::size_t among = below(2) == 0 || few == 0 ? names.size() : few;
  const std::uint64_t values[] = {0, 0, 0, 1 + below(4), 8 * below(32), std::uint64_t{1} << below(64)};
  return {.width = Edit::of_descriptor,
          .at = entry_hash(names[names.size() - among + below(among)]),
          .value = values[below(std::size(values))]};
}

Edit Stage::new_edit(const Words& words) {
  Edit edit;
  if (words.records.empty() || below(3) == 0) {
    edit.at = words.all[below(words.all.size())] + below(8);
  } else {
    const auto& [address, size] = words.records[below(words.records.size())];
    edit.at = address + below(size) / 4 * 4;
  }
  static constexpr std::array<std::uint8_t, 10> widths{1, 2, 4, 4, 4, 8, 8, 8, 8, 0};
  edit.width = widths[below(widths.size())];
  edit.value = new_value(words, edit.at);
  return edit;
}

std::size_t Stage::mutate(std::span<std::uint8_t> buffer, std::size_t size, unsigned seed) {
  random_.seed(seed);
  Play play = parse(std::span<const std::uint8_t>(buffer).first(size));
  if (below(16) == 0) {
    // Edits of one scene mean nothing in another.
    play.edits.clear();
    play.scene = static_cast<std::uint8_t>(below(scenes_.size()));
  }
  if (play.edits.empty() || below(16) == 0)
    play.part = static_cast<std::uint8_t>(below(scenes_[play.scene]->parts()));
  const Words& words = words_of(play.scene, play.part);
  if (words.all.empty()) return write(play, buffer);
  for (std::uint64_t changes = 1 + below(3); changes != 0; --changes) {
    if (play.edits.empty() || (below(2) == 0 && play.edits.size() < max_edits)) {
      play.edits.push_back(below(8) == 0 ? new_entry(play.scene) : new_edit(words));
      continue;
    }
    const std::size_t number = below(play.edits.size());
    Edit& edit = play.edits[number];
    switch (below(4)) {
    case 0:
      play.edits.erase(play.edits.begin() + static_cast<std::ptrdiff_t>(number));
      break;
    case 1:
      if (edit.in_memory()) edit.at += 8 * below(9) - 32;
      break;
    case 2: {
      std::array<std::uint8_t, 8> bytes{};
      store_little(edit.value, bytes);
      LLVMFuzzerMutate(bytes.data(), bytes.size(), bytes.size());
      edit.value = load_little(bytes);
      break;
    }
    default:
      edit.value = new_value(words, edit.at);
    }
  }
  return write(play, buffer);
}

std::size_t Stage::cross(std::span<const std::uint8_t> one, std::span<const std::uint8_t> other,
                         std::span<std::uint8_t> out, unsigned seed) {
  random_.seed(seed);
  Play play = parse(one);
  const Play second = parse(other);
  if (play.scene == second.scene)
    for (const Edit& edit : second.edits)
      if (play.edits.size() < max_edits && below(2) == 0) play.edits.push_back(edit);
  return write(play, out);
}

} // namespace clr::fuzz

// The scenes are made before the first input, whose time is limited. `--seeds FOLDER` writes the inputs that
// mutation begins with, and ends: make_corpus.py.
extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  clr::fuzz::Stage& stage = clr::fuzz::Stage::get();
  if (*count == 3 && std::string_view((*words)[1]) == "--seeds") {
    stage.write_seeds((*words)[2]);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  clr::fuzz::Stage::get().run({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return clr::fuzz::Stage::get().mutate({data, max_size}, size, seed);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t max_size, unsigned seed) {
  return clr::fuzz::Stage::get().cross({one, one_size}, {other, other_size}, {out, max_size}, seed);
}

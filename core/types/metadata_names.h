// Names from the metadata of one module: types and methods by token, signatures decoded into TypeName trees.
// The caller supplies the parts that metadata alone cannot know: the arguments that stand for type
// parameters, and the names of raw TypeHandles.
#pragma once

#include "core/metadata/metadata.h"
#include "core/metadata/signature.h"
#include "core/types/name_format.h"
#include "core/types/name_room.h"
#include "core/types/type_pool.h"

#include <functional>
#include <unordered_map>

namespace clr {

class MetadataNames;

// Names of the raw TypeHandles in signatures that the runtime made (IL stubs, dynamic methods).
class TypeHandleNames {
public:
  virtual ~TypeHandleNames() = default;
  // The type at `type_handle`; never null: unknown_type() when it cannot be read. The caller marks the result
  // as `internal`.
  virtual TypeNamePtr type_of_handle(std::uint64_t type_handle) = 0;
};

// The modules that a ReadyToRun signature can refer to by number.
class SignatureModules {
public:
  virtual ~SignatureModules() = default;
  // Names of module `index`; null when they are not available.
  virtual MetadataNames* module(std::uint32_t index) = 0;
};

// What one signature has taken so far, with all that it refers to in this module and in others.
struct SignatureBudget {
  std::size_t expanded = 0; // bytes of TypeSpecs
  std::size_t made = 0;     // bytes of the types that were made, and of the names that they have
};

// The context in which a signature is read. All members are optional; objects that they point to must outlive
// the call.
struct SignatureContext {
  // The types that VAR n and MVAR n stand for. A variable beyond the end of these lists stays a variable.
  std::span<const TypeNamePtr> class_arguments, method_arguments;
  // The type and the method that own the signature. They give names to type parameters that stay variables
  // ("TKey" for !0). 0: not looked up.
  std::uint32_t class_token = 0, method_token = 0;
  TypeHandleNames* handles = nullptr;  // allows ELEMENT_TYPE_INTERNAL
  SignatureModules* modules = nullptr; // allows ReadyToRun element types
  unsigned pointer_size = 8;
  ByteOrder byte_order = ByteOrder::little;
  SignatureBudget* budget = nullptr; // of the signature that this one is part of; null: its own
};

class MetadataNames final : public NameKeeper {
public:
  // `metadata` must outlive this. What is kept counts in `room`, which modules may share. Reads nothing.
  explicit MetadataNames(const Metadata& metadata, std::shared_ptr<NameRoom> room = nullptr);
  ~MetadataNames() override;
  MetadataNames(const MetadataNames&) = delete;
  MetadataNames& operator=(const MetadataNames&) = delete;

  const Metadata& metadata() const { return *metadata_; }
  // Simple name of the assembly (Assembly row 1), else the module's name without ".dll". Kept.
  const std::string& assembly_name() { return shared_assembly_name().str(); }
  const SharedText& shared_assembly_name();
  // For modules that are no assembly of their own (Reflection.Emit), and where the caller already knows the
  // name.
  void set_assembly_name(SharedText name) { assembly_name_ = std::move(name); }

  // The type behind a TypeDef, TypeRef or TypeSpec token; a TypeDef or TypeRef comes without arguments. Kept.
  // Throws Error for rows that do not exist, for chains of enclosing types that loop or exceed max_nesting,
  // and for names beyond max_type_text. Cost cold: about 3 reads per level (row, name, namespace), and a
  // binary search in NestedClass.
  TypeNamePtr type(std::uint32_t token, const SignatureContext& context = {});
  TypeNamePtr type_def(std::uint32_t rid);
  TypeNamePtr type_ref(std::uint32_t rid);
  // The definition with the names of its type parameters, to print it open: "List<T>". Kept.
  TypeNamePtr open_type_def(std::uint32_t rid);

  // Reads the signature of a MethodDef or MemberRef, or a signature that the runtime stored, into
  // signature_known and the members behind it. Throws Error{corrupt, memory_missing}, also for a signature
  // beyond max_expanded or max_made, and leaves `name` unchanged then.
  void read_signature(std::span<const std::byte> bytes, const SignatureContext& context,
                      QualifiedMethodName& name);
  // The same for a signature in the #Blob heap. Kept when it means the same in every context.
  void read_signature(std::uint32_t blob, const SignatureContext& context, QualifiedMethodName& name);
  // A type signature (TypeSpec, or within a ReadyToRun entry).
  TypeNamePtr read_type(SignatureReader& reader, const SignatureContext& context);
  // The same in a module whose metadata may not be available (`module` null): its types are unknown then.
  static TypeNamePtr read_type_in(MetadataNames* module, SignatureReader& reader,
                                  const SignatureContext& context);

  // The whole name of a MethodDef. The declaring type is open (with parameter names), or instantiated over
  // context.class_arguments when there are some. `declaring_type` null: the type that owns the rid. When the
  // signature cannot be read, signature_known stays false. Throws Error when the row or the names cannot be
  // read.
  QualifiedMethodName method(std::uint32_t method_rid, const SignatureContext& context = {},
                             TypeNamePtr declaring_type = nullptr);
  // The same with an open declaring type, and without what the signature tells.
  QualifiedMethodName method_without_signature(std::uint32_t method_rid);
  // The same for a MemberRef. `declaring_type` null: the parent in its row.
  QualifiedMethodName member(std::uint32_t member_ref_rid, const SignatureContext& context = {},
                             TypeNamePtr declaring_type = nullptr);
  // Names of the type parameters of a TypeDef or MethodDef token. Valid until the next call.
  const std::vector<SharedText>& generic_parameter_names(std::uint32_t owner_token);

  static constexpr unsigned max_nesting = 64;            // enclosing types of a type
  static constexpr std::size_t max_signatures = 100'000; // further ones are not kept
  static constexpr unsigned max_generic_parameters = 1024;
  static constexpr unsigned max_type_spec_depth = 16; // nesting of TypeSpecs that refer to TypeSpecs
  // Limit of the bytes of all TypeSpecs that one signature expands to. A few TypeSpecs that refer to each
  // other many times would otherwise grow without end.
  static constexpr std::size_t max_expanded = 64 * 1024;
  // Bytes of the names of a type and of those around it. The compiler of C# gives a name at most 1,023.
  static constexpr std::size_t max_type_text = 16 * 1024;
  // Bytes of all types that one signature is made of, and of their names, each time that it names one: a few
  // bytes stand for a name of thousands. A method with a thousand parameters that are generic has half of it.
  static constexpr std::size_t max_made = 2u << 20;

  void drop_names() override;

  // Methods that were looked at in searches for the users' ones (user_method.h), which share a limit.
  std::size_t& searched_methods() { return searched_methods_; }

private:
  struct Provider;
  // `of_context` tells whether the context had a part in the result.
  MethodSignature<TypeNamePtr> decode(std::span<const std::byte> bytes, const SignatureContext& context,
                                      bool& of_context);

  TypeNamePtr reference(std::uint32_t token, std::optional<bool> value_type, const SignatureContext& context);
  // That of a TypeDef or TypeRef.
  TypeNamePtr definition(std::uint32_t token, std::optional<bool> value_type);
  TypeNamePtr make(TypeParts parts);
  // The same as instantiate(), but kept.
  TypeNamePtr instance_of(TypeNamePtr definition, std::vector<TypeNamePtr> arguments);
  // Fills in the signature, or records in the name why the signature cannot be read.
  void try_signature(std::uint32_t blob, const SignatureContext& context, QualifiedMethodName& name);
  const SharedText& shared_text(std::uint32_t index);
  void add_name(TypeName& type, std::uint32_t index, std::size_t& size) const;
  TypeName read_type_def(std::uint32_t rid);
  TypeName read_type_ref(std::uint32_t rid);
  TypeNamePtr read_type_spec(std::uint32_t rid, const SignatureContext& context);

  const Metadata* metadata_;
  std::optional<SharedText> assembly_name_;
  std::unordered_map<std::uint64_t, TypeNamePtr> types_;      // by token and what is known of value_type
  std::unordered_map<std::uint32_t, TypeNamePtr> open_types_; // by rid
  std::unordered_map<std::uint32_t, std::vector<SharedText>> parameter_names_; // by owner token
  std::unordered_map<std::uint32_t, SharedText> texts_; // by their place in the #Strings heap
  TypePool made_;
  std::shared_ptr<NameRoom> room_; // all of the maps and made_ count in it
  std::unordered_map<std::uint32_t, MethodSignature<TypeNamePtr>> signatures_; // by blob; of no context
  unsigned type_spec_depth_ = 0;
  std::size_t searched_methods_ = 0;
};

} // namespace clr

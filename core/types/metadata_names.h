// Names from the metadata of one module: types and methods by token, signatures decoded into TypeName trees.
// What metadata alone cannot know (the arguments that stand for type parameters, raw TypeHandles) the caller
// supplies.
#pragma once

#include "core/metadata/metadata.h"
#include "core/metadata/signature.h"
#include "core/types/name_format.h"
#include "core/types/type_pool.h"

#include <functional>
#include <unordered_map>

namespace clr {

class MetadataNames;

// Names of the raw TypeHandles in signatures that the runtime made (IL stubs, dynamic methods).
class TypeHandleNames {
public:
  virtual ~TypeHandleNames() = default;
  // The type at `type_handle`; never null. What cannot be read is unknown_type(). The result is marked
  // `internal` by the caller.
  virtual TypeNamePtr type_of_handle(std::uint64_t type_handle) = 0;
};

// The modules that a ReadyToRun signature can refer to by number.
class SignatureModules {
public:
  virtual ~SignatureModules() = default;
  // Names of module `index`; null when it is not to be had.
  virtual MetadataNames* module(std::uint32_t index) = 0;
};

// What a signature is read in. All parts are optional; those given must outlive the call.
struct SignatureContext {
  // What VAR n and MVAR n stand for; shorter or empty: the variable stays a variable.
  std::span<const TypeNamePtr> class_arguments, method_arguments;
  // Owner of the signature, for the names of type parameters that stay variables ("TKey" for !0). 0: not
  // looked up.
  std::uint32_t class_token = 0, method_token = 0;
  TypeHandleNames* handles = nullptr;  // allows ELEMENT_TYPE_INTERNAL
  SignatureModules* modules = nullptr; // allows ReadyToRun element types
  unsigned pointer_size = 8;
  ByteOrder byte_order = ByteOrder::little;
};

class MetadataNames {
public:
  // `metadata` must outlive this. Reads nothing.
  explicit MetadataNames(const Metadata& metadata);

  const Metadata& metadata() const { return *metadata_; }
  // Simple name of the assembly (Assembly row 1), else the module's name without ".dll". Kept.
  const std::string& assembly_name();
  // Set when the module is no assembly of its own (Reflection.Emit) or the name is known better elsewhere.
  void set_assembly_name(std::string name) { assembly_name_ = std::move(name); }

  // The type behind a TypeDef, TypeRef or TypeSpec token; without arguments for the first two. Kept. Throws
  // Error for rows that do not exist and chains of enclosers that loop or exceed max_nesting. Cost cold:
  // about 3 reads per level (row, name, namespace), NestedClass by binary search.
  TypeNamePtr type(std::uint32_t token, const SignatureContext& context = {});
  TypeNamePtr type_def(std::uint32_t rid);
  TypeNamePtr type_ref(std::uint32_t rid);
  // The definition with the names of its type parameters, for printing it open: "List<T>". Kept.
  TypeNamePtr open_type_def(std::uint32_t rid);

  // Fills signature_known and the members behind it from a MethodDef/MemberRef/stored signature. Throws
  // Error{corrupt, memory_missing}; `name` is then as before.
  void read_signature(std::span<const std::byte> bytes, const SignatureContext& context,
                      QualifiedMethodName& name);
  // A type signature (TypeSpec, or within a ReadyToRun entry).
  TypeNamePtr read_type(SignatureReader& reader, const SignatureContext& context);
  // The same in a module whose metadata may not be to be had (`module` null): its types are unknown then.
  static TypeNamePtr read_type_in(MetadataNames* module, SignatureReader& reader,
                                  const SignatureContext& context);

  // The whole name of a MethodDef, the declaring type open (with parameter names), or instantiated over
  // context.class_arguments when there are some. `declaring_type` null: found through the owner of the rid.
  // A signature that cannot be read leaves signature_known false. Throws Error when the row or the names
  // cannot be read.
  QualifiedMethodName method(std::uint32_t method_rid, const SignatureContext& context = {},
                             TypeNamePtr declaring_type = nullptr);
  // The same of a MemberRef; `declaring_type` null: its parent.
  QualifiedMethodName member(std::uint32_t member_ref_rid, const SignatureContext& context = {},
                             TypeNamePtr declaring_type = nullptr);
  // Names of the type parameters of a TypeDef or MethodDef token. Kept.
  const std::vector<std::string>& generic_parameter_names(std::uint32_t owner_token);

  static constexpr unsigned max_nesting = 64; // enclosers of a type
  static constexpr unsigned max_generic_parameters = 1024;
  static constexpr unsigned max_type_spec_depth = 16; // TypeSpecs that name TypeSpecs
  // Bytes of all TypeSpecs within one signature: a few that name each other often would grow without end.
  static constexpr std::size_t max_expanded = 64 * 1024;

private:
  struct Provider;

  TypeNamePtr reference(std::uint32_t token, std::optional<bool> value_type, const SignatureContext& context);
  // As instantiate(); kept.
  TypeNamePtr instance_of(TypeNamePtr definition, std::vector<TypeNamePtr> arguments);
  void begin_signature();
  // Fills the signature, or says in the name why it cannot be read.
  void try_signature(std::uint32_t blob, const SignatureContext& context, QualifiedMethodName& name);
  TypeName read_type_def(std::uint32_t rid);
  TypeName read_type_ref(std::uint32_t rid);
  TypeNamePtr read_type_spec(std::uint32_t rid, const SignatureContext& context);

  const Metadata* metadata_;
  std::optional<std::string> assembly_name_;
  std::unordered_map<std::uint64_t, TypeNamePtr> types_;      // by token and what is known of value_type
  std::unordered_map<std::uint32_t, TypeNamePtr> open_types_; // by rid
  std::unordered_map<std::uint32_t, std::vector<std::string>> parameter_names_; // by owner token
  TypePool made_;
  unsigned type_spec_depth_ = 0;
  std::size_t expanded_ = 0; // bytes of TypeSpecs decoded for the signature at hand
};

} // namespace clr

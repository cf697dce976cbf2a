/** The functions, macros and types that expressions in Kubernetes find without anybody declaring them. */
import { addressesLibrary, cidrType, ipType } from '#api/cel/library/addresses.ts'
import {
  authorizerLibrary,
  authorizerType,
  decisionType,
  groupCheckType,
  pathCheckType,
  resourceCheckType,
} from '#api/cel/library/authorizer.ts'
import { formatsLibrary, formatType } from '#api/cel/library/formats.ts'
import { listExtension, listsLibrary, sortByMacro } from '#api/cel/library/lists.ts'
import { mapInsertLibrary, optionalsLibrary } from '#api/cel/library/optionals.ts'
import { quantityLibrary, quantityType } from '#api/cel/library/quantity.ts'
import { regexLibrary } from '#api/cel/library/regex.ts'
import { semversLibrary, semverType } from '#api/cel/library/semvers.ts'
import { setsLibrary } from '#api/cel/library/sets.ts'
import { stringsLibrary } from '#api/cel/library/strings.ts'
import { urlsLibrary, urlType } from '#api/cel/library/urls.ts'
import { arithmetic } from '#api/cel/standard/arithmetic.ts'
import { collections } from '#api/cel/standard/collections.ts'
import { conversions } from '#api/cel/standard/conversions.ts'
import { logic } from '#api/cel/standard/logic.ts'
import { time } from '#api/cel/standard/time.ts'
import { type Macro, optionalMacros, standardMacros, twoVariableMacros } from '#api/cel/syntax/macros.ts'
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  string,
  timestamp,
  typeOf,
  uint,
} from '#api/cel/types/cel-type.ts'
import type { FunctionDeclaration, StructType } from '#api/cel/types/declarations.ts'

export type Libraries = {
  readonly functions: ReadonlyMap<string, FunctionDeclaration>
  readonly macros: readonly Macro[]
  readonly structs: ReadonlyMap<string, StructType>
  readonly typeNames: ReadonlyMap<string, CelType>
}

/** Overloads of one function may come from several places. */
function merged(lists: readonly (readonly FunctionDeclaration[])[]): Map<string, FunctionDeclaration> {
  const functions = new Map<string, FunctionDeclaration>()
  for (const { name, overloads } of lists.flat())
    functions.set(name, { name, overloads: [...(functions.get(name)?.overloads ?? []), ...overloads] })
  return functions
}

const builtInTypes: Readonly<Record<string, CelType>> = {
  bool,
  int,
  uint,
  double,
  string,
  bytes,
  list: listOf(dyn),
  map: mapOf(dyn, dyn),
  null_type: nullType,
  type: typeOf(),
  'google.protobuf.Timestamp': timestamp,
  'google.protobuf.Duration': duration,
  optional_type: optionalOf(dyn),
}

/** Types of libraries have no fields, only functions. */
const opaqueStructs = [
  quantityType,
  urlType,
  formatType,
  semverType,
  authorizerType,
  pathCheckType,
  groupCheckType,
  resourceCheckType,
  decisionType,
]

const standardFunctions = [arithmetic, logic, collections, conversions, time]

function librariesOf(
  functions: readonly (readonly FunctionDeclaration[])[],
  macros: readonly Macro[],
  types: readonly CelType[] = [],
): Libraries {
  const named = types.flatMap((type) => ('name' in type ? [[type.name, type] as const] : []))
  const structs = types.flatMap((type) =>
    type.kind === 'struct' ? [[type.name, { name: type.name, field: () => undefined }] as const] : [],
  )
  return {
    functions: merged(functions),
    macros,
    structs: new Map(structs),
    typeNames: new Map([...Object.entries(builtInTypes), ...named]),
  }
}

export const kubernetesLibraries: Libraries = librariesOf(
  [
    ...standardFunctions,
    urlsLibrary,
    regexLibrary,
    listsLibrary,
    authorizerLibrary,
    optionalsLibrary,
    quantityLibrary,
    stringsLibrary,
    setsLibrary,
    addressesLibrary,
    formatsLibrary,
    mapInsertLibrary,
    semversLibrary,
    listExtension,
  ],
  [...standardMacros, ...optionalMacros, ...twoVariableMacros, sortByMacro],
  [...opaqueStructs, ipType, cidrType],
)

/** The same with further macros and functions, as some places have them. */
export function withMore(libraries: Libraries, more: { macros?: readonly Macro[]; functions?: readonly FunctionDeclaration[] }): Libraries {
  return {
    ...libraries,
    macros: [...libraries.macros, ...(more.macros ?? [])],
    functions: merged([[...libraries.functions.values()], more.functions ?? []]),
  }
}

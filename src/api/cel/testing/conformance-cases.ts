/** CEL's conformance cases and those of cel-go, as far as Kubernetes' CEL can have an answer to them. */

import type { JsonValue } from '#api/cel/testing/conformance-value.ts'
import { type CelType, dyn } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member, plain } from '#api/cel/types/declarations.ts'
import { noSuchOverload } from '#api/cel/values/value.ts'

type JsonType = {
  primitive?: string
  dyn?: unknown
  null?: unknown
  wrapper?: string
  wellKnown?: string
  listType?: { elemType?: JsonType }
  mapType?: { keyType: JsonType; valueType: JsonType }
  typeParam?: string
  abstractType?: { name: string; parameterTypes?: JsonType[] }
}
type JsonDeclaration = {
  name: string
  ident?: { type: JsonType }
  function?: { overloads: { overloadId: string; params?: JsonType[]; resultType: JsonType; isInstanceFunction?: boolean }[] }
}
export type ConformanceCase = {
  original: {
    name?: string
    expr: string
    container?: string
    disableCheck?: boolean
    disableMacros?: boolean
    typeEnv?: JsonDeclaration[]
    bindings?: Record<string, { value: JsonValue }>
    value?: JsonValue
    evalError?: unknown
    typedResult?: { result?: JsonValue; deducedType: JsonType }
  }
  checkedAst?: string
  type?: string
  error?: string
}
type Suite = { name: string; tests?: ConformanceCase[]; suites?: Suite[] }

/** Undefined when the package with the cases is not installed. */
export async function casesOf(name: 'conformance' | 'checking' | 'parsing'): Promise<Map<string, ConformanceCase[]> | undefined> {
  let suite: Suite
  try {
    suite = ((await import(`@bufbuild/cel-spec/testdata/${name}.js`)) as { tests: Suite }).tests
  } catch {
    return undefined
  }
  const found = new Map<string, ConformanceCase[]>()
  const collect = ({ tests = [], suites = [] }: Suite, into: string) => {
    found.set(into, [...(found.get(into) ?? []), ...tests])
    for (const inner of suites) collect(inner, into)
  }
  if (suite.suites === undefined) collect(suite, suite.name)
  else for (const inner of suite.suites) collect(inner, inner.name)
  return found
}

const foreign =
  /TestAllTypes|messageType|google\.protobuf\b(?!\.(?:Timestamp|Duration))|Enum|cel\.block|cel\.iterVar|proto\.|base64|math\.|cel\.expr/

/** Whether it asks for what only protobuf messages and other libraries have. */
export const isForeign = ({ original }: ConformanceCase): boolean =>
  foreign.test(JSON.stringify(original)) || original.disableMacros === true || original.disableCheck === true

const primitives: Readonly<Record<string, CelType['kind']>> = {
  BOOL: 'bool',
  INT64: 'int',
  UINT64: 'uint',
  DOUBLE: 'double',
  STRING: 'string',
  BYTES: 'bytes',
  ANY: 'any',
  TIMESTAMP: 'timestamp',
  DURATION: 'duration',
}
const primitive = (name: string): CelType => ({ kind: primitives[name] ?? 'dyn' }) as CelType

export function typeFrom(json: JsonType): CelType {
  if (json.primitive ?? json.wellKnown) return primitive(json.primitive ?? json.wellKnown ?? '')
  if ('null' in json) return { kind: 'null' }
  if (json.wrapper) return { kind: 'wrapper', of: primitive(json.wrapper) }
  if (json.listType) return { kind: 'list', element: json.listType.elemType ? typeFrom(json.listType.elemType) : dyn }
  if (json.mapType) return { kind: 'map', key: typeFrom(json.mapType.keyType), value: typeFrom(json.mapType.valueType) }
  if (json.typeParam) return { kind: 'parameter', name: json.typeParam }
  const { name, parameterTypes = [] } = json.abstractType ?? { name: '' }
  return name === '' ? dyn : { kind: 'opaque', name, parameters: parameterTypes.map(typeFrom) }
}

export function declarationsOf({ original }: ConformanceCase): { variables: Record<string, CelType>; functions: FunctionDeclaration[] } {
  const variables: Record<string, CelType> = {}
  const functions: FunctionDeclaration[] = []
  const fail = () => {
    throw noSuchOverload()
  }
  for (const { name, ident, function: declared } of original.typeEnv ?? []) {
    if (ident) variables[name] = typeFrom(ident.type)
    if (!declared) continue
    const overloads = declared.overloads.map(({ overloadId, params = [], resultType, isInstanceFunction }) =>
      (isInstanceFunction ? member : plain)(overloadId, params.map(typeFrom), typeFrom(resultType), fail),
    )
    functions.push(declare(name, ...overloads))
  }
  return { variables, functions }
}

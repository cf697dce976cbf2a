/** What policies that change objects make: parts of objects to be applied, and JSON patches. */
import { type CelType, dyn, string, struct } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, plain, type StructType } from '#api/cel/types/declarations.ts'
import { structType } from '#api/cel/types/struct-types.ts'
import { mapOfEntries } from '#api/cel/values/json.ts'
import { CelError, CelList, type CelMap, HashMap, type Value } from '#api/cel/values/value.ts'

const patchFields = structType('JSONPatch', { op: string, path: string, from: string, value: dyn })

/** Remembers by which name it was made. */
class MutationObject extends HashMap {
  readonly typeName: string
  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super()
    this.typeName = typeName
    for (const [name, value] of fields) this.insert(name, value)
  }
  override get type(): CelType {
    return struct(this.typeName)
  }
}

/** `Object.spec{}` belongs into the field `spec` of the object; a sentence about what is elsewhere. */
export function misplacedPart(value: Value, wanted: string): string | undefined {
  if (value instanceof CelList) {
    for (const element of value) {
      const found = misplacedPart(element, wanted)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!(value instanceof MutationObject)) return undefined
  if (value.typeName !== wanted)
    return `unexpected type name "${value.typeName}", expected "${wanted}", which matches field name path from root Object type`
  for (const key of value.keys()) {
    const found = misplacedPart(value.get(key) as Value, `${wanted}.${String(key)}`)
    if (found !== undefined) return found
  }
  return undefined
}

const operations = ['add', 'copy', 'move', 'remove', 'replace', 'test']

function madePatch(fields: ReadonlyMap<string, Value>): CelMap {
  const op = fields.get('op')
  if (typeof op !== 'string' || !operations.includes(op)) throw new CelError(`invalid JSONPatch operation: ${String(op)}`)
  return mapOfEntries(fields)
}

/** `Object`, `Object.spec`, … may have any field: what an object looks like is not known when a policy is written. */
export function mutationTypes(name: string): StructType | undefined {
  if (name === 'JSONPatch') return { ...patchFields, make: madePatch }
  return name === 'Object' || name.startsWith('Object.')
    ? { name, field: () => dyn, make: (fields) => new MutationObject(name, fields) }
    : undefined
}

export const jsonPatchLibrary: readonly FunctionDeclaration[] = [
  declare(
    'jsonpatch.escapeKey',
    plain('string_jsonpatch_escapeKey_string', [string], string, (text) => (text as string).replaceAll('~', '~0').replaceAll('/', '~1')),
  ),
]

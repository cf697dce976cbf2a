/** What policies that change objects make: parts of objects to be applied, and JSON patches. */
import { dyn, string } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, plain, type StructType } from '#api/cel/types/declarations.ts'
import { structType } from '#api/cel/types/struct-types.ts'
import { mapOfEntries } from '#api/cel/values/json.ts'
import { CelError, type CelMap, type Value } from '#api/cel/values/value.ts'

const patchFields = structType('JSONPatch', { op: string, path: string, from: string, value: dyn })

const made = (fields: ReadonlyMap<string, Value>): CelMap => mapOfEntries(fields)

const operations = ['add', 'copy', 'move', 'remove', 'replace', 'test']

function madePatch(fields: ReadonlyMap<string, Value>): CelMap {
  const op = fields.get('op')
  if (typeof op !== 'string' || !operations.includes(op)) throw new CelError(`invalid JSONPatch operation: ${String(op)}`)
  return made(fields)
}

/** `Object`, `Object.spec`, … may have any field: what an object looks like is not known when a policy is written. */
export function mutationTypes(name: string): StructType | undefined {
  if (name === 'JSONPatch') return { ...patchFields, make: madePatch }
  return name === 'Object' || name.startsWith('Object.') ? { name, field: () => dyn, make: made } : undefined
}

export const jsonPatchLibrary: readonly FunctionDeclaration[] = [
  declare(
    'jsonpatch.escapeKey',
    plain('string_jsonpatch_escapeKey_string', [string], string, (text) => (text as string).replaceAll('~', '~0').replaceAll('/', '~1')),
  ),
]

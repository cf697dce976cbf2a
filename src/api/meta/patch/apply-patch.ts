/** Patches of the three kinds that need no field ownership: JSON Patch, JSON merge patch, strategic merge patch. */
import { jsonText } from '#api/codec/json-text.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import type { TypeSchema } from '#api/schema/type-schema.ts'
import { goTypeOf } from './go-print.ts'
import { applyJsonPatch } from './json-patch.ts'
import { fieldOf, isDeeperThan, isObject, type JsonObject, maxDepth } from './json-value.ts'
import { applyMergePatch } from './merge-patch.ts'
import { PatchError } from './patch-error.ts'
import { asValue } from './patch-schema.ts'
import { mergeObject } from './strategic-merge.ts'

export type PatchKind = 'json' | 'merge' | 'strategic'

/**
 * The object as the patch wants it, private and free to change but for managedFields. `current` may be frozen, and the
 * parsed `patch` may be applied again; both stay as they are. The result can hold nulls and unknown fields: it has yet to be decoded like any
 * object of a request. Throws a PatchError.
 */
export function applyPatch(kind: PatchKind, current: object, patch: unknown, schema?: TypeSchema): JsonObject {
  if (isDeeperThan(patch, maxDepth)) throw new PatchError('badRequest', 'exceeded max depth')
  const target = copyFor(kind, current as JsonObject, patch)
  if (kind === 'json') return applyJsonPatch(target, operationsOf(patch))
  if (kind === 'merge') return applyMergePatch(target, mergePatchOf(patch))
  if (schema === undefined) throw new PatchError('badRequest', 'strategic merge patch format is not supported')
  if (!isObject(patch)) throw new PatchError('badRequest', notDecodable(patch, 'map[string]interface {}'))
  return mergeObject(target, patch, asValue(schema), 'apply')
}

/** managedFields are big, never changed in place, and most patches leave them alone: those share them. */
function copyFor(kind: PatchKind, current: JsonObject, patch: unknown): JsonObject {
  const metadata = fieldOf(current, 'metadata')
  const owners = isObject(metadata) ? metadata['managedFields'] : undefined
  if (!isObject(metadata) || owners === undefined || speaksOfOwners(kind, patch)) return deepCopy(current)
  const { managedFields: _, ...rest } = metadata
  const copy = deepCopy({ ...current, metadata: rest })
  return { ...copy, metadata: { ...(copy['metadata'] as JsonObject), managedFields: owners } }
}

function speaksOfOwners(kind: PatchKind, patch: unknown): boolean {
  if (kind === 'json') return !Array.isArray(patch) || jsonText(patch).includes('managedFields')
  const metadata = isObject(patch) ? patch['metadata'] : null
  return metadata !== undefined && (!isObject(metadata) || metadata['managedFields'] !== undefined)
}

/** A null patch has no operations. */
function operationsOf(patch: unknown): JsonObject[] {
  if (patch === null) return []
  if (!Array.isArray(patch)) throw undecodable(notDecodable(patch, '[]handlers.jsonPatchOp'))
  for (const operation of patch) {
    if (operation === null) continue
    if (!isObject(operation)) throw undecodable(notDecodable(operation, 'handlers.jsonPatchOp'))
    for (const name of operationTexts) {
      const text = fieldOf(operation, name) ?? ''
      if (typeof text !== 'string') throw undecodable(notDecodable(text, 'string', `Go struct field jsonPatchOp.${name}`))
    }
  }
  return patch.map((operation: JsonObject | null) => operation ?? {})
}

const operationTexts = ['op', 'path', 'from'] as const
const operationFields: ReadonlySet<string> = new Set([...operationTexts, 'value'])

/** Fields of the operations that mean nothing: what strict validation refuses, and the default warns of. */
export function unknownOperationFields(patch: unknown): string[] {
  if (!Array.isArray(patch)) return []
  return patch.flatMap((operation: unknown, index) =>
    isObject(operation)
      ? Object.keys(operation)
          .filter((name) => !operationFields.has(name))
          .map((name) => `json patch unknown field "[${index}].${name}"`)
      : [],
  )
}

function mergePatchOf(patch: unknown): JsonObject {
  if (patch === null) throw new PatchError('badRequest', 'Invalid JSON Patch')
  if (!isObject(patch)) throw undecodable(notDecodable(patch, 'map[string]interface {}'))
  return patch
}

function undecodable(why: string): PatchError {
  return new PatchError('badRequest', `error decoding patch: ${why}`)
}

const jsonNames: Readonly<Record<string, string>> = {
  string: 'string',
  bool: 'bool',
  int64: 'number',
  float64: 'number',
  '[]interface {}': 'array',
}

function notDecodable(value: unknown, type: string, into = 'Go value'): string {
  return `json: cannot unmarshal ${jsonNames[goTypeOf(value)] ?? 'object'} into ${into} of type ${type}`
}

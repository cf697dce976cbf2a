import { applyPatch } from '#api/meta/patch/apply-patch.ts'
import { findSchema, schemaNameOf } from '#api/schema/schema.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'

/** What the server would make of it, as far as that can be told without one. */
export function locallyPatched(object: ApiObject, type: 'strategic' | 'merge' | 'json', body: unknown): ApiObject {
  if (type !== 'strategic') return applyPatch(type, object, body) as ApiObject
  const [group, version] = groupAndVersion(object.apiVersion ?? '')
  const name = schemaNameOf({ group, version, kind: object.kind ?? '' })
  const schema = name === undefined ? undefined : findSchema(name)
  if (schema === undefined)
    throw new CliError(`strategic merge patch is not supported for ${group}/${version}, Kind=${object.kind} locally, try --type merge`)
  return applyPatch('strategic', object, body, schema) as ApiObject
}

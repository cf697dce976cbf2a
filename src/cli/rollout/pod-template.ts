/** Changes of pod templates, sent as the patch between before and after. */

import type { V1PodSpec, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import { createMergePatch } from '#api/meta/patch/merge-patch.ts'
import { createTwoWayMergePatch } from '#api/meta/patch/strategic-diff.ts'
import { findSchema, schemaNameOf } from '#api/schema/schema.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { dryRunOf } from '#cli/write-options.ts'

/** The part of an object that pods are made of; undefined where it has none. */
export function podSpecOf(object: ApiObject): V1PodSpec | undefined {
  return object.kind === 'Pod' ? (object['spec'] as V1PodSpec) : podTemplateOf(object)?.spec
}

export function podTemplateOf(object: ApiObject): V1PodTemplateSpec | undefined {
  const spec = object['spec'] as { template?: V1PodTemplateSpec; jobTemplate?: { spec?: { template?: V1PodTemplateSpec } } } | undefined
  if (object.kind === 'PodTemplate') return object['template'] as V1PodTemplateSpec
  return object.kind === 'CronJob' ? spec?.jobTemplate?.spec?.template : spec?.template
}

/** The strategic merge patch, or for kinds without a schema the plain one; undefined where nothing changes. */
export function patchBetween({ type }: Info, before: ApiObject, after: ApiObject): { contentType: string; body: JsonObject } | undefined {
  const name = schemaNameOf(type)
  const schema = name === undefined ? undefined : findSchema(name)
  const body =
    schema === undefined
      ? createMergePatch(before as JsonObject, after as JsonObject)
      : createTwoWayMergePatch(before as JsonObject, after as JsonObject, schema)
  if (Object.keys(body).length === 0) return undefined
  return { contentType: schema === undefined ? 'application/merge-patch+json' : 'application/strategic-merge-patch+json', body }
}

/** Changes a copy and sends the difference. Undefined where there is none. */
export async function changeObject(
  call: Call,
  info: Info,
  change: (object: ApiObject) => void,
  { isLocal = false }: { isLocal?: boolean } = {},
): Promise<ApiObject | undefined> {
  const { flags, session } = call
  const after = deepCopy(info.object)
  change(after)
  const patch = patchBetween(info, info.object, after)
  if (patch === undefined) return undefined
  const dryRun = dryRunOf(call)
  if (isLocal || dryRun === 'client') return after
  const rest = await session.rest
  const query = {
    fieldManager: flags.has('field-manager') ? flags.text('field-manager') : undefined,
    dryRun: dryRun === 'server' ? 'All' : undefined,
  }
  return rest.json<ApiObject>({ method: 'PATCH', path: infoPath(info), contentType: patch.contentType, query, body: patch.body })
}

/** Client-side apply: the three-way patch from what was applied last, what is wanted now and what is live. */

import { deepCopy } from '#api/meta/deep-copy.ts'
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import { createThreeWayJsonMergePatch } from '#api/meta/patch/merge-patch.ts'
import { createThreeWayMergePatch } from '#api/meta/patch/strategic-diff.ts'
import { findSchema, schemaNameOf } from '#api/schema/schema.ts'
import { defined } from '#base/defined.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError } from '#cli/cli-error.ts'
import { fetchInfo, type Info, infoPath } from '#cli/resources/info.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { lastAppliedOf, withLastApplied, withoutLastApplied } from '#cli/write-options.ts'

export type ObjectPatch = { type: 'strategic' | 'merge'; body: JsonObject }

export const contentTypes = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const

/** What makes `live` the wanted object. */
export function applyPatchFor(
  { type, object }: Info,
  live: ApiObject,
  { overwrites = true, annotates = true }: { overwrites?: boolean; annotates?: boolean } = {},
): ObjectPatch {
  const original = JSON.parse(lastAppliedOf(live) ?? '{}') as JsonObject
  const modified = (annotates ? withLastApplied(object) : withoutLastApplied(object)) as JsonObject
  const name = schemaNameOf(type)
  const schema = name === undefined ? undefined : findSchema(name)
  const current = deepCopy(live) as JsonObject
  if (schema === undefined) return { type: 'merge', body: createThreeWayJsonMergePatch(original, modified, current) }
  return { type: 'strategic', body: createThreeWayMergePatch(original, modified, current, schema, { overwrite: overwrites }) }
}

export const isEmptyPatch = ({ body }: ObjectPatch): boolean => Object.keys(body).length === 0

export type PatchOptions = {
  query: Record<string, string | undefined>
  overwrites: boolean
  /** Deletes and creates anew what cannot be patched. */
  isForced: boolean
  forceQuery: { grace: number; cascade: string }
}

const tries = 5

/** The object as it is afterwards. Tries again where somebody else was quicker. */
export async function patchLive(
  call: Call,
  info: Info,
  live: ApiObject,
  options: PatchOptions,
): Promise<{ object: ApiObject; patch: ObjectPatch }> {
  const rest = await call.session.rest
  let current = live
  for (let attempt = 1; ; attempt++) {
    const patch = applyPatchFor(info, current, options)
    if (isEmptyPatch(patch)) return { object: current, patch }
    const resourceVersion = info.object.metadata?.resourceVersion
    if (resourceVersion && attempt > 1) patch.body['metadata'] = { ...(patch.body['metadata'] as JsonObject | undefined), resourceVersion }
    try {
      const object = await rest.json<ApiObject>({
        method: 'PATCH',
        path: infoPath(info),
        contentType: contentTypes[patch.type],
        query: options.query,
        body: patch.body,
      })
      return { object, patch }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.isConflict && attempt <= tries) {
        if (attempt > 1) await call.host.clock.sleep(1000)
        current = await fetchInfo(rest, info)
        continue
      }
      if ((error.isConflict || error.status.reason === 'Invalid') && options.isForced)
        return { object: await replaceByForce(call, info, options), patch }
      throw new PatchFailure(error.during('patching', info.source), patch, current)
    }
  }
}

/** Carries what was tried, for the message. */
export class PatchFailure extends Error {
  override name = 'PatchFailure'
  readonly refusal: ApiError
  readonly patch: ObjectPatch
  readonly live: ApiObject

  constructor(refusal: ApiError, patch: ObjectPatch, live: ApiObject) {
    super(refusal.message)
    this.refusal = refusal
    this.patch = patch
    this.live = live
  }
}

async function replaceByForce(call: Call, info: Info, { query, forceQuery }: PatchOptions): Promise<ApiObject> {
  const rest = await call.session.rest
  const body = {
    propagationPolicy: forceQuery.cascade,
    ...defined({ gracePeriodSeconds: forceQuery.grace >= 0 ? forceQuery.grace : undefined }),
  }
  await rest.json({ method: 'DELETE', path: infoPath(info), body })
  for (;;) {
    try {
      await fetchInfo(rest, info)
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) break
      throw error
    }
    await call.host.clock.sleep(1000)
  }
  const { resourceVersion: _old, ...metadata } = info.object.metadata ?? {}
  return rest.json<ApiObject>({
    method: 'POST',
    path: resourcePath(info.type, info.namespace),
    query,
    body: withLastApplied({ ...info.object, metadata }),
  })
}

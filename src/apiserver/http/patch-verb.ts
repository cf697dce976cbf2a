/** Patching: JSON patch, merge patch, strategic merge patch, and server-side apply. */

import { jsonText } from '#api/codec/json-text.ts'
import { cut, quoted } from '#api/meta/check.ts'
import { applyPatch, type PatchKind, unknownOperationFields } from '#api/meta/patch/apply-patch.ts'
import { goPrint } from '#api/meta/patch/go-print.ts'
import { maxOperations } from '#api/meta/patch/json-patch.ts'
import { badRequest, conflict, invalid, notFound } from '#api/meta/status-error.ts'
import type { KubernetesObject, ResourceDefinition, UpdateRules } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { authorizeCreate } from '#apiserver/http/authorize-create.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { storingWithDefaults } from '#apiserver/http/decode-body.ts'
import { decodingPatched, parsingPatchBody } from '#apiserver/http/decode-object.ts'
import { countOutermost } from '#apiserver/http/entry-limits.ts'
import { type WriteOptions, writeOptions } from '#apiserver/http/query-options.ts'
import { failure, unknownPatchType } from '#apiserver/http/refusals.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { checkName, readWritten, type WriteServices, type Written, writeContext } from '#apiserver/http/write-verbs.ts'
import { dropRepeatedOwners } from '#apiserver/registry/owner-references.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { inSteps, type Steps } from '#base/steps.ts'

const patchKinds: Readonly<Record<string, PatchKind | 'apply'>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
}

export function patchKindOf(context: RequestContext, definition?: ResourceDefinition): PatchKind | 'apply' {
  const type = (context.headers['content-type'] ?? '').split(';')[0] ?? ''
  const kind = patchKinds[type]
  const isUntyped = definition?.untyped !== undefined
  // How lists merge is told by Go's types.
  if (kind === undefined || (isUntyped && kind === 'strategic')) throw unknownPatchType(isUntyped)
  return kind
}

export async function patchObject(
  context: RequestContext,
  resource: ServedResource,
  services: WriteServices,
  rules: UpdateRules<KubernetesObject> | undefined,
): Promise<Written> {
  const kind = patchKindOf(context, resource.definition)
  const body = await readWritten(context, services)
  const options = writeOptions('PatchOptions', context.query, kind === 'apply')
  const write = { ...writeContext(context, resource, options, 'UpdateOptions'), giveWay: () => services.giveWay(context) }
  const patch = kind === 'apply' ? undefined : await inSteps(parsingPatch(kind, body, options), () => services.giveWay(context))
  await services.giveWay(context)
  const { object, wasCreated } = await resource.registry.update(context.info.name, write, {
    createsIfMissing: kind === 'apply' && context.info.subresource === '',
    authorizeCreate: () => authorizeCreate(context, services.authorizer),
    retriesConflicts: true,
    ...defined({ rules }),
    async transform(prev) {
      const next =
        kind === 'apply'
          ? await applied(prev, body, context, resource, write, options, services)
          : await patched(kind, prev, patch, context, resource, options, services)
      await services.giveWay(context)
      if (prev === undefined && next.metadata?.uid) {
        throw conflict(
          subjectOf(resource),
          context.info.name,
          `uid mismatch: the provided object specified uid ${next.metadata.uid}, and no existing object was found`,
        )
      }
      if (next.metadata && !next.metadata.namespace && resource.definition.scope === 'Namespaced')
        next.metadata.namespace = context.info.namespace
      checkName(next, context)
      if (kind !== 'apply') await services.ownership.afterUpdate(prev, next, write)
      dropRepeatedOwners(next, context.warn, true)
      return next
    },
  })
  return { status: wasCreated ? 201 : 200, object }
}

type ParsedPatch = { patch: unknown; strictErrors: string[] }

function* parsingPatch(kind: PatchKind, body: Uint8Array, options: WriteOptions): Steps<ParsedPatch> {
  const isStrict = options.fieldValidation !== 'Ignore'
  const operations = kind === 'json' ? countOutermost(body) : 0
  // Too many operations are refused whatever they say, once it is known that there is an object.
  if (operations > maxOperations) return { patch: Array(operations).fill(null), strictErrors: [] }
  try {
    const { value, duplicates } = yield* parsingPatchBody(body)
    yield
    const strictErrors = isStrict ? [...(kind === 'json' ? unknownOperationFields(value) : []), ...duplicates()] : []
    return { patch: value, strictErrors }
  } catch (error) {
    const message = errorMessage(error)
    throw badRequest(kind === 'strategic' || !isStrict ? message : `error decoding patch: ${message}`)
  }
}

/** What the patch makes of the current object, in the served version, then decoded like any body. */
async function patched(
  kind: PatchKind,
  prev: KubernetesObject | undefined,
  parsed: ParsedPatch | undefined,
  context: RequestContext,
  resource: ServedResource,
  options: WriteOptions,
  { giveWay }: WriteServices,
): Promise<KubernetesObject> {
  if (prev === undefined) throw notFound(subjectOf(resource), context.info.name)
  const { definition } = resource
  const { patch, strictErrors = [] } = parsed ?? {}
  const schema = definition.schema === '' ? undefined : schemaOf(definition.schema)
  const result: Record<string, unknown> = applyPatch(kind, resource.fromStored(prev), patch, schema)
  await giveWay(context)
  const shown = () => (kind === 'strategic' ? goPrint(patch) : jsonText(result))
  const refuse = (why: string) =>
    invalid({ group: '', kind: '' }, '', [
      { type: 'FieldValueInvalid', field: 'patch', body: `Invalid value: ${quoted(cut(shown()))}: ${why}` },
    ])
  const decoded = await inSteps(decodingPatched(result, definition), () => giveWay(context))
  await giveWay(context)
  if ('error' in decoded) throw refuse(kind === 'strategic' ? restoreError(decoded.error) : decoded.error)
  const problems = [...strictErrors, ...decoded.strictErrors]
  if (problems.length > 0) {
    if (options.fieldValidation === 'Warn') for (const each of problems) context.warn(each)
    if (options.fieldValidation === 'Strict') throw refuse(`strict decoding error: ${problems.join(', ')}`)
  }
  await giveWay(context)
  return inSteps(storingWithDefaults(resource, decoded.object), () => giveWay(context))
}

/** A strategic patch is not decoded from JSON but put together from maps, and upstream's complaints differ. */
function restoreError(message: string): string {
  const [, given = '', type = ''] = /^json: cannot unmarshal (\w+)(?: \S+)? into Go .* of type (\S+)$/.exec(message) ?? []
  const goKind = { object: 'map', array: 'slice', number: 'int64' }[given] ?? given
  if (type.startsWith('[]')) return `cannot restore slice from ${goKind}`
  if (type.startsWith('map[')) return `cannot restore map from ${goKind}`
  return /^\w+\.[A-Z]/.test(type) ? `cannot restore struct from: ${goKind}` : message
}

/** The configuration merged into the live object, then decoded like any body. */
async function applied(
  prev: KubernetesObject | undefined,
  body: Uint8Array,
  context: RequestContext,
  resource: ServedResource,
  write: WriteContext,
  options: WriteOptions,
  { ownership, giveWay }: WriteServices,
): Promise<KubernetesObject> {
  const merged = await ownership.apply(prev, body, write, { ...options, warn: context.warn })
  await giveWay(context)
  // The schema was looked at while merging: nothing unknown is in it.
  if (resource.definition.untyped !== undefined) return inSteps(storingWithDefaults(resource, merged), () => giveWay(context))
  const decoded = await inSteps(decodingPatched(merged as Record<string, unknown>, resource.definition), () => giveWay(context))
  if ('error' in decoded) throw failure(500, decoded.error)
  await giveWay(context)
  return inSteps(storingWithDefaults(resource, decoded.object), () => giveWay(context))
}

function subjectOf({ definition }: ServedResource) {
  return { group: definition.group, resource: definition.plural }
}

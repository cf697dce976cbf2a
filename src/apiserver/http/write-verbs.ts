/** Creating, replacing and deleting objects over HTTP. Patching has a file of its own. */

import { managerName } from '#api/meta/apply/manager-name.ts'
import { badRequest, forbidden } from '#api/meta/status-error.ts'
import type { V1DeleteOptions } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject, UpdateRules } from '#api/resource.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { FairUse } from '#apiserver/fair-use/fair-use.ts'
import { authorizeCreate } from '#apiserver/http/authorize-create.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { contentMedia, decodingBody, storingWithDefaults } from '#apiserver/http/decode-body.ts'
import { decodeOptions, decodePlainValue } from '#apiserver/http/decode-object.ts'
import { requiringFewEntries } from '#apiserver/http/entry-limits.ts'
import { deleteOptionsFromQuery, type WriteOptions, writeOptions } from '#apiserver/http/query-options.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import type { FieldOwnership } from '#apiserver/registry/field-ownership.ts'
import { metadataOf } from '#apiserver/registry/metadata-of.ts'
import { dropRepeatedOwners } from '#apiserver/registry/owner-references.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { inSteps } from '#base/steps.ts'

export type WriteServices = {
  ownership: FieldOwnership
  /** Resolves when it is the turn of one more large body. */
  largeBodyTurn(): Promise<void>
  /** Undefined, unless the request has kept others waiting, which is noted: then when it is its turn again. */
  giveWay(context: RequestContext): Promise<void> | undefined
  fairUse: FairUse
  /** Asked once more where a change turns out to be a creation. */
  authorizer: Authorizer
}

/** To read and validate an object of this size takes so long that others come between two of them. */
const largeBodyBytes = 8 * 1024

/** The body of a write. */
export async function readWritten(context: RequestContext, services: WriteServices): Promise<Buffer> {
  const { exchange, info } = context
  const body = await exchange.readBody(services.fairUse.bodyBytesFor({ group: info.group, plural: info.resource }))
  if (body.length < largeBodyBytes) return body
  await services.largeBodyTurn()
  await inSteps(requiringFewEntries(body, services.fairUse.limits.entries), () => services.giveWay(context))
  await services.giveWay(context)
  return body
}

/** The object that a write sends, as its sender means it. */
async function readObject(
  context: RequestContext,
  { definition }: ServedResource,
  services: WriteServices,
  { fieldValidation }: WriteOptions,
): Promise<KubernetesObject> {
  const given = definition.untyped === undefined ? context.exchange.takeBodyValue?.() : undefined
  const plain = given && decodePlainValue(given, definition)
  if (plain !== undefined) return plain
  const body = await readWritten(context, services)
  const decoding = decodingBody(body, definition, {
    ...bodyOptions(context),
    fieldValidation,
    entryLimits: services.fairUse.limits.entries,
  })
  return inSteps(decoding, () => services.giveWay(context))
}

export type Written = { status: number; object: CachedObject }

export async function createObject(context: RequestContext, resource: ServedResource, services: WriteServices): Promise<Written> {
  const options = writeOptions('CreateOptions', context.query)
  contentMedia(context.headers['content-type'])
  const decoded = await readObject(context, resource, services, options)
  await services.giveWay(context)
  const object = await inSteps(storingWithDefaults(resource, decoded), () => services.giveWay(context))
  wipeSystemFields(object)
  dropRepeatedOwners(object, context.warn)
  const write = { ...writeContext(context, resource, options, 'CreateOptions'), giveWay: () => services.giveWay(context) }
  await services.giveWay(context)
  const { name = '' } = object.metadata ?? {}
  services.fairUse.requireRoomInNamespace(resource.definition, write.namespace, name, resource.registry.cache.count(write.namespace))
  return { status: 201, object: await resource.registry.create(object, write) }
}

export async function replaceObject(
  context: RequestContext,
  resource: ServedResource,
  services: WriteServices,
  rules: UpdateRules<KubernetesObject> | undefined,
): Promise<Written> {
  const options = writeOptions('UpdateOptions', context.query)
  const decoded = await readObject(context, resource, services, options)
  await services.giveWay(context)
  const next = await inSteps(storingWithDefaults(resource, decoded), () => services.giveWay(context))
  checkName(next, context)
  dropRepeatedOwners(next, context.warn)
  const write = { ...writeContext(context, resource, options, 'UpdateOptions'), giveWay: () => services.giveWay(context) }
  await services.giveWay(context)
  const { object, wasCreated } = await resource.registry.update(context.info.name, write, {
    expectsUid: true,
    authorizeCreate: () => authorizeCreate(context, services.authorizer),
    async transform(prev) {
      await services.ownership.afterUpdate(prev, next, write)
      return next
    },
    ...defined({ rules }),
  })
  return { status: wasCreated ? 201 : 200, object }
}

/** Answers with the object where the kind says so, else with a Status. */
export async function deleteObject(
  context: RequestContext,
  resource: ServedResource,
  services: WriteServices,
): Promise<Written & { wasDeleted: boolean }> {
  const options = await readDeleteOptions(context, services, resource.definition.untyped !== undefined)
  const write = deleteContext(context, resource, options)
  const { definition } = resource
  const refusal = definition.deletionForbidden?.(context.info.name)
  if (refusal !== undefined) throw forbidden({ group: definition.group, resource: definition.plural }, context.info.name, refusal)
  warnOfUnspecifiedPropagation(resource, options, write)
  const { object, wasDeleted } = await resource.registry.delete(context.info.name, options, write)
  const isAccepted = !wasDeleted && options.orphanDependents === false
  return { status: isAccepted ? 202 : 200, object, wasDeleted }
}

export function warnOfUnspecifiedPropagation({ definition }: ServedResource, options: V1DeleteOptions, { warn }: WriteContext): void {
  const warning = definition.unspecifiedPropagationWarning
  if (warning !== undefined && options.propagationPolicy === undefined && options.orphanDependents === undefined) warn(warning)
}

export async function readDeleteOptions(context: RequestContext, services: WriteServices, isUntyped = false): Promise<V1DeleteOptions> {
  const body = await readWritten(context, services)
  if (body.length === 0) return deleteOptionsFromQuery(context.query)
  return decodeOptions<V1DeleteOptions>(
    body,
    contentMedia(context.headers['content-type']),
    'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
    isUntyped ? "couldn't get version/kind; json parse error: " : '',
  )
}

export function deleteContext(context: RequestContext, resource: ServedResource, options: V1DeleteOptions): WriteContext {
  const dryRun = options.dryRun ?? []
  return writeContext(context, resource, { dryRun, fieldManager: '', fieldValidation: 'Ignore', force: undefined }, 'DeleteOptions', {
    ...options,
  })
}

export function bodyOptions(context: RequestContext): { contentType: string | undefined; warn(text: string): void } {
  return { contentType: context.headers['content-type'], warn: context.warn }
}

export function writeContext(
  context: RequestContext,
  resource: ServedResource,
  options: WriteOptions,
  optionsKind: string,
  given: Record<string, unknown> = {},
): WriteContext {
  const { group, version, kind, plural } = resource.definition
  const { info } = context
  return {
    user: context.user,
    namespace: resource.definition.scope === 'Namespaced' ? info.namespace : '',
    resource: { group, version, resource: plural },
    kind: { group, version, kind },
    subresource: info.subresource,
    verb: info.verb,
    isDryRun: options.dryRun.includes('All'),
    fieldManager: managerName(options.fieldManager, context.headers['user-agent']),
    options: { ...given, ...admittedOptions(context, optionsKind, options) },
    deadlineMs: context.deadlineMs,
    warn: context.warn,
    annotateAudit: context.annotateAudit,
    served: resource,
  }
}

/** As the client gave them, for those who validate the request. */
function admittedOptions({ query }: RequestContext, kind: string, { dryRun, fieldManager }: WriteOptions): Record<string, unknown> {
  const fieldValidation = kind === 'DeleteOptions' ? '' : (query.get('fieldValidation') ?? '')
  return {
    kind,
    apiVersion: 'meta.k8s.io/v1',
    ...omitEmpty({ dryRun, fieldManager, fieldValidation }),
  }
}

/** What a creator may not choose. */
function wipeSystemFields(object: KubernetesObject): void {
  const metadata = metadataOf(object)
  delete metadata.creationTimestamp
  delete metadata.deletionTimestamp
  delete metadata.deletionGracePeriodSeconds
  delete metadata.uid
  delete metadata.selfLink
}

export function checkName(object: KubernetesObject, context: RequestContext): void {
  const { name = '', namespace = '' } = object.metadata ?? {}
  const { info } = context
  if (namespace !== '' && info.namespace !== '' && info.resource !== 'namespaces' && namespace !== info.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  if (name === '') throw badRequest(`the name of the object (${info.name} based on URL) was undeterminable: name must be provided`)
  if (name !== info.name) throw badRequest(`the name of the object (${name}) does not match the name on the URL (${info.name})`)
}

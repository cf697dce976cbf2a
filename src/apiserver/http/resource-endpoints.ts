/** The endpoints of resources: which verb of which resource is answered how. */

import { allVerbs, type Verb } from '#api/kind.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { notAcceptable, notFound } from '#api/meta/status-error.ts'
import type { KubernetesObject, ScaleRules, UpdateRules } from '#api/resource.ts'
import { contentTypeOf, encodeList, encodeValue, encodingObject } from '#apiserver/http/answers.ts'
import { formOf, tableOptions } from '#apiserver/http/asked-form.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { warnOfDeprecation } from '#apiserver/http/deprecation.ts'
import { addWarnings, type Endpoint, statusSchema } from '#apiserver/http/handler.ts'
import { headerChoices } from '#apiserver/http/header-choices.ts'
import { type ListPage, listPage, listPatienceMs, parseResourceVersion } from '#apiserver/http/list-page.ts'
import { type Form, negotiate, untypedMedia } from '#apiserver/http/negotiation.ts'
import { patchObject } from '#apiserver/http/patch-verb.ts'
import { type ListOptions, listOptions, validateListOptions } from '#apiserver/http/query-options.ts'
import { methodNotAllowed } from '#apiserver/http/refusals.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { RequestTurns } from '#apiserver/http/request-turns.ts'
import { type Selection, selectionOf } from '#apiserver/http/selection.ts'
import { respondPieces, respondWhole, turn } from '#apiserver/http/send-pieces.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { isSharedAsValue, sharedValue } from '#apiserver/http/shared-value.ts'
import { untypedEndpoint, type VerbEndpoints } from '#apiserver/http/untyped-endpoints.ts'
import { WatchTurns } from '#apiserver/http/watch-turns.ts'
import { type WatchServices, watchObjects } from '#apiserver/http/watch-verb.ts'
import {
  createObject,
  deleteContext,
  deleteObject,
  readDeleteOptions,
  replaceObject,
  type WriteServices,
  type Written,
  warnOfUnspecifiedPropagation,
} from '#apiserver/http/write-verbs.ts'
import type { WatchMetrics } from '#apiserver/metrics/watch-metrics.ts'
import { scaleEndpoint } from '#apiserver/subresources/scale.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import type { Clock } from '#base/clock.ts'
import type { HttpHeaders } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Random } from '#base/random.ts'
import { inSteps } from '#base/steps.ts'
import type { Store } from '#store/store.ts'

export type EndpointServices = WriteServices & {
  clock: Clock
  random: Random
  logger: Logger
  store: Store
  /** Served resources by `group/version/plural`. */
  find(group: string, version: string, plural: string): ServedResource | undefined
  /** Subresources that are no plain write of the object: `pods/log`, `pods/binding`, … by `group/plural/subresource`. */
  special(group: string, plural: string, subresource: string): SpecialSubresource | undefined
  /** Answers larger than this are compressed for clients that can take it. */
  gzipFromBytes: number
  /** Those of answers that are made piece by piece. */
  answerTurns: RequestTurns
  watches?: WatchMetrics
  outsideWatches: WatchServices['outsideWatches']
}

type RouteServices = EndpointServices & Pick<WatchServices, 'turns' | 'ownTurns'>

/** `methods` are the HTTP methods it takes. */
export type SpecialSubresource = {
  methods: readonly string[]
  handle(context: RequestContext, resource: ServedResource): void | Promise<void>
}

export function resourceRoute(given: EndpointServices): (info: RequestInfo, method: string) => Endpoint | undefined {
  const { clock } = given
  const services: RouteServices = {
    ...given,
    turns: new WatchTurns(clock, { rests: true }),
    ownTurns: new WatchTurns(clock, { rests: false }),
  }
  return (info, method) => {
    const resource = services.find(info.group, info.version, info.resource)
    if (resource === undefined) return undefined
    const endpoint = endpointFor(services, resource, info, method)
    const { filled } = resource.registry.cache
    if (endpoint === undefined || (resource.definition.deprecated === undefined && filled === undefined)) return endpoint
    return async (context) => {
      // A kind that has only just come to be served.
      await filled
      warnOfDeprecation(context, resource)
      return endpoint(context)
    }
  }
}

/** A custom resource's. */
function untypedEndpointFor(services: RouteServices, resource: ServedResource, info: RequestInfo): Endpoint | undefined {
  const written =
    (
      write: (rules: UpdateRules<KubernetesObject> | undefined, context: RequestContext) => Promise<Written>,
      rules?: UpdateRules<KubernetesObject>,
    ): Endpoint =>
    async (context) =>
      respondWritten(services, context, resource, await write(rules, context))
  const reads: VerbEndpoints = { get: (context) => getObject(services, context, resource) }
  const updates = (rules?: UpdateRules<KubernetesObject>): VerbEndpoints => ({
    update: written((each, context) => replaceObject(context, resource, services, each), rules),
    patch: written((each, context) => patchObject(context, resource, services, each), rules),
  })
  const object: VerbEndpoints = {
    ...reads,
    ...updates(),
    list: (context) => listObjects(services, context, resource),
    watch: (context) => watchObjects(services, context, resource, untypedFormOf(context, resource), () => tableOptions(services, context)),
    create: written((_, context) => createObject(context, resource, services)),
    delete: (context) => deleteOne(services, context, resource),
    deletecollection: (context) => deleteMany(services, context, resource),
  }
  const subresource = (name: string): VerbEndpoints | undefined => {
    const rules = resource.definition.subresources?.[name]
    if (rules === undefined) return undefined
    if (!isScale(rules)) return { ...reads, ...updates(rules) }
    const scale = (method: string) => scaleEndpoint(services, resource, rules, method)
    return { get: scale('GET'), update: scale('PUT'), patch: scale('PATCH') }
  }
  return untypedEndpoint(resource, info, { object, subresource })
}

function endpointFor(services: RouteServices, resource: ServedResource, info: RequestInfo, method: string): Endpoint | undefined {
  if (resource.definition.untyped !== undefined) return untypedEndpointFor(services, resource, info)
  const isNamespaced = resource.definition.scope === 'Namespaced'
  if (isNamespaced ? info.namespace === '' && isNamed(info) : info.namespace !== '' && info.resource !== 'namespaces') return undefined
  if (info.subresource !== '') return subresourceEndpoint(services, resource, info, method)
  if (info.rest !== '') return undefined
  return objectEndpoint(services, resource, info, method)
}

function isNamed({ name, verb }: RequestInfo): boolean {
  return name !== '' && verb !== 'list' && verb !== 'watch'
}

function objectEndpoint(services: RouteServices, resource: ServedResource, info: RequestInfo, method: string): Endpoint | undefined {
  const { definition } = resource
  const isCollection =
    info.verb === 'list' ||
    info.verb === 'deletecollection' ||
    (info.verb === 'watch' && !info.path.endsWith(`/${info.name}`)) ||
    info.verb === 'create'
  const verbs = definition.verbs ?? allVerbs
  const needsNamespace = definition.scope === 'Namespaced' && info.namespace === ''
  const hasNamed = verbs.some((verb) => verb === 'get' || verb === 'update' || verb === 'delete' || verb === 'patch')
  const pathIsNamed = lastSegment(info.path) !== info.resource
  if (pathIsNamed && !hasNamed) return undefined
  const notAllowed: Endpoint = () => {
    throw methodNotAllowed()
  }
  if (method === 'HEAD' || !verbs.includes(info.verb as Verb)) return notAllowed
  if (info.verb === 'create' && pathIsNamed) return notAllowed
  if (needsNamespace && info.verb !== 'list' && info.verb !== 'watch') return isCollection ? notAllowed : undefined
  if ((info.verb === 'update' || info.verb === 'patch') && !pathIsNamed) return notAllowed
  switch (info.verb) {
    case 'get':
      return (context) => getObject(services, context, resource)
    case 'list':
      return (context) => listObjects(services, context, resource)
    case 'watch':
      return (context) => watchObjects(services, context, resource, untypedFormOf(context, resource), () => tableOptions(services, context))
    case 'create':
      return async (context) => respondWritten(services, context, resource, await createObject(context, resource, services))
    case 'update':
      return async (context) => respondWritten(services, context, resource, await replaceObject(context, resource, services, undefined))
    case 'patch':
      return async (context) => respondWritten(services, context, resource, await patchObject(context, resource, services, undefined))
    case 'delete':
      return (context) => deleteOne(services, context, resource)
    case 'deletecollection':
      return (context) => deleteMany(services, context, resource)
    default:
      return notAllowed
  }
}

function lastSegment(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end--
  return path.slice(path.lastIndexOf('/', end - 1) + 1, end)
}

async function deleteOne(services: EndpointServices, context: RequestContext, resource: ServedResource): Promise<void> {
  const form = untypedFormOf(context, resource)
  const { status, object, wasDeleted } = await deleteObject(context, resource, services)
  if (wasDeleted && !resource.definition.returnsDeletedObject) respondDeleted(context, resource, object, form, status)
  else await respondObject(services, context, resource, object, form, status)
}

function subresourceEndpoint(
  services: EndpointServices,
  resource: ServedResource,
  info: RequestInfo,
  method: string,
): Endpoint | undefined {
  const { definition, registry } = resource
  const special = services.special(definition.group, definition.plural, info.subresource)
  if (special !== undefined) {
    if (!special.methods.includes(method)) {
      return () => {
        throw methodNotAllowed()
      }
    }
    return (context) => special.handle(context, resource)
  }
  const rules = registry.definition.subresources?.[info.subresource]
  if (rules === undefined || info.rest !== '') return undefined
  if (isScale(rules)) return scaleEndpoint(services, resource, rules, method)
  const update = rules as UpdateRules<KubernetesObject>
  switch (method) {
    case 'GET':
      return (context) => getObject(services, context, resource)
    case 'PUT':
      return async (context) => respondWritten(services, context, resource, await replaceObject(context, resource, services, update))
    case 'PATCH':
      return async (context) => respondWritten(services, context, resource, await patchObject(context, resource, services, update))
    default:
      return () => {
        throw methodNotAllowed()
      }
  }
}

function isScale(rules: UpdateRules<KubernetesObject> | ScaleRules<KubernetesObject>): rules is ScaleRules<KubernetesObject> {
  return 'setReplicas' in rules
}

/** Custom resources have no protobuf; of their metadata there is. */
function untypedFormOf(context: RequestContext, { definition }: ServedResource): Form {
  const form = formOf(context)
  if (definition.untyped === undefined || form.media !== 'protobuf' || form.as !== 'object') return form
  const others = headerChoices(context.headers.accept)
    .split(',')
    .filter((each) => !each.includes('protobuf'))
  if (others.length === 0) throw notAcceptable(untypedMedia)
  return negotiate(others.join(','), { pretty: context.query.get('pretty'), userAgent: context.headers['user-agent'] })
}

function getObject(services: EndpointServices, context: RequestContext, resource: ServedResource): void | Promise<void> {
  const form = untypedFormOf(context, resource)
  const { cache } = resource.registry
  const asked = context.query.get('resourceVersion')
  if (asked) parseResourceVersion(asked)
  else if (!cache.isFresh) return cache.fresh().then(() => respondFound(services, context, resource, form))
  return respondFound(services, context, resource, form)
}

function respondFound(services: EndpointServices, context: RequestContext, resource: ServedResource, form: Form): void | Promise<void> {
  const { namespace, name } = context.info
  const { group, plural } = resource.definition
  const object = resource.registry.cache.get(resource.registry.key(namespace, name))
  if (object === undefined) throw notFound({ group, resource: plural }, name)
  const waiting = resource.registry.cache.prepare([object])
  if (waiting !== undefined) return waiting.then(() => respondObject(services, context, resource, object, form, 200))
  return respondObject(services, context, resource, object, form, 200)
}

async function listObjects(services: EndpointServices, context: RequestContext, resource: ServedResource): Promise<void> {
  const options = listOptions(context.query, false)
  const form = untypedFormOf(context, resource)
  const selection = selectionOf(resource.definition, namespaceOf(context, resource), options)
  validateListOptions(options)
  const page = await chosen(services, context, resource, selection, options)
  if (options.limit === 0) services.fairUse.requireShortList(page.items.length)
  await respondList(services, context, resource, page, form)
}

function chosen(
  { store, clock, answerTurns }: EndpointServices,
  { exchange }: RequestContext,
  { registry }: ServedResource,
  selection: Selection,
  options: ListOptions,
): Promise<ListPage> {
  const giveWay = () => (answerTurns.isInTurn ? undefined : turn(answerTurns, exchange))
  return listPage({ registry, store, giveWay }, selection, options, (signal) => clock.sleep(listPatienceMs, signal))
}

async function deleteMany(services: EndpointServices, context: RequestContext, resource: ServedResource): Promise<void> {
  const list = listOptions(context.query, false)
  const form = untypedFormOf(context, resource)
  const selection = selectionOf(resource.definition, namespaceOf(context, resource), list)
  validateListOptions(list)
  const options = await readDeleteOptions(context, services, resource.definition.untyped !== undefined)
  const page = await chosen(services, context, resource, selection, list)
  const write = deleteContext(context, resource, options)
  warnOfUnspecifiedPropagation(resource, options, write)
  for (const { namespace, name } of page.items) {
    await resource.registry.delete(name, options, { ...write, namespace, isOfMany: true }).catch(ignoreNotFound)
    await services.giveWay(context)
  }
  await respondList(services, context, resource, page, form)
}

function namespaceOf({ info }: RequestContext, { definition }: ServedResource): string {
  return definition.scope === 'Namespaced' ? info.namespace : ''
}

function respondList(
  services: EndpointServices,
  context: RequestContext,
  resource: ServedResource,
  page: ListPage,
  form: Form,
): Promise<void> {
  const { answerTurns: turns, gzipFromBytes } = services
  const headers: HttpHeaders = { 'content-type': contentTypeOf(form) }
  addWarnings(context, headers)
  const pieces = encodeList(resource, page, form, tableOptions(services, context))
  return respondPieces(pieces, { exchange: context.exchange, turns, headers, gzipFromBytes })
}

function respondWritten(
  services: EndpointServices,
  context: RequestContext,
  resource: ServedResource,
  { status, object }: Written,
): void | Promise<void> {
  return respondObject(services, context, resource, object, untypedFormOf(context, resource), status)
}

export function respondObject(
  services: EndpointServices,
  context: RequestContext,
  resource: ServedResource,
  object: CachedObject,
  form: Form,
  status: number,
): void | Promise<void> {
  const headers: HttpHeaders = { 'content-type': contentTypeOf(form) }
  addWarnings(context, headers)
  const { exchange } = context
  if (exchange.takesValues && isSharedAsValue(resource, form)) {
    return exchange.respondValue?.(status, headers, () => sharedValue(resource, object), object.jsonBytes)
  }
  const answer = (body: Uint8Array) => respondWhole(body, { exchange, headers, gzipFromBytes: services.gzipFromBytes, status })
  const encoding = encodingObject(resource, object, form, tableOptions(services, context))
  const body = inSteps(encoding, () => services.giveWay(context))
  return body instanceof Promise ? body.then(answer) : answer(body)
}

function respondDeleted(context: RequestContext, { definition }: ServedResource, { object }: CachedObject, form: Form, code: number): void {
  const details = {
    name: object.metadata?.name ?? '',
    ...omitEmpty({ group: definition.group }),
    kind: definition.plural,
    uid: object.metadata?.uid ?? '',
  }
  const headers: HttpHeaders = { 'content-type': contentTypeOf(form) }
  addWarnings(context, headers)
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
  context.exchange.respond(code, headers, encodeValue(status, { ...form, as: 'object' }, statusSchema))
}

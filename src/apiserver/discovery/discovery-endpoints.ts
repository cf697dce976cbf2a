/** /api, /apis and what lies below them, plain or aggregated, remembered until something changes. */
import { createHash } from 'node:crypto'
import { notAcceptable } from '#api/meta/status-error.ts'
import { apiGroup, apiResourceList, type DiscoveryGroup, groupDiscovery } from '#apiserver/discovery/discovery.ts'
import { contentTypeOf, encodeValue } from '#apiserver/http/answers.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import { acceptedMedia, negotiate } from '#apiserver/http/negotiation.ts'
import { methodNotAllowed, serverCouldNotFind } from '#apiserver/http/refusals.ts'

export type DiscoverySource = {
  /** In the order of preference, core (the empty name) apart. */
  groups(): DiscoveryGroup[]
  core(): DiscoveryGroup
  /** `10.0.0.1:6443`, what clients are told to call. */
  serverAddress(): string
}

export function discoveryRoute(source: DiscoverySource): (path: string, method: string) => Endpoint | undefined {
  return (path, method) => {
    const parts = path.split('/').filter((part) => part !== '')
    const answer = documentFor(source, parts)
    if (answer === undefined) return undefined
    if (method !== 'GET' && method !== 'HEAD' && !(parts.length === 1 && parts[0] === 'apis')) {
      return () => {
        throw methodNotAllowed()
      }
    }
    return answer
  }
}

function documentFor(source: DiscoverySource, parts: string[]): Endpoint | undefined {
  const [root, first, second, ...rest] = parts
  if (rest.length > 0) return undefined
  if (root === 'api') {
    if (second !== undefined) return undefined
    if (first === undefined) return (context) => respondGroups(context, source, [source.core()], coreVersions(source))
    return versionDocument(source.core(), first)
  }
  if (root !== 'apis') return undefined
  if (first === undefined) {
    const plain = () => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: source.groups().map(apiGroup) })
    return (context) => respondGroups(context, source, source.groups(), plain())
  }
  const group = source.groups().find(({ name }) => name === first)
  if (group === undefined) return notFoundText
  if (second === undefined) return (context) => respond(context, { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group) })
  return versionDocument(group, second)
}

const notFoundText: Endpoint = ({ exchange }) =>
  exchange.respond(404, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }, '404 page not found\n')

function versionDocument(group: DiscoveryGroup, version: string): Endpoint {
  const found = group.versions.find((each) => each.version === version)
  return (context) => {
    if (found === undefined) throw serverCouldNotFind()
    respond(context, apiResourceList(group.name, version, found.definitions))
  }
}

function coreVersions(source: DiscoverySource): unknown {
  return {
    kind: 'APIVersions',
    versions: source.core().versions.map(({ version }) => version),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: source.serverAddress() }],
  }
}

const aggregated = /^application\/json;\s*g=apidiscovery\.k8s\.io;\s*v=(v2|v2beta1);\s*as=APIGroupDiscoveryList/

/** Clients that know the aggregated form ask for it first. */
function respondGroups(context: RequestContext, _source: DiscoverySource, groups: DiscoveryGroup[], plain: unknown): void {
  for (const clause of (context.headers.accept ?? '').split(',')) {
    const text = clause.trim()
    const match = aggregated.exec(text)
    if (match?.[1] !== undefined) {
      const document = {
        kind: 'APIGroupDiscoveryList',
        apiVersion: `apidiscovery.k8s.io/${match[1]}`,
        metadata: {},
        items: groups.map(groupDiscovery),
      }
      respondTagged(
        context,
        Buffer.from(JSON.stringify(document)),
        `application/json;g=apidiscovery.k8s.io;v=${match[1]};as=APIGroupDiscoveryList`,
      )
      return
    }
    if (text.includes('as=APIGroupDiscoveryList')) continue
    respond(context, plain)
    return
  }
  throw notAcceptable(acceptedMedia)
}

function respond(context: RequestContext, document: unknown): void {
  const form = negotiate(context.headers.accept, { pretty: context.query.get('pretty'), userAgent: context.headers['user-agent'] })
  context.exchange.respond(200, { 'content-type': contentTypeOf(form) }, encodeValue(document as object, form, undefined))
}

function respondTagged(context: RequestContext, body: Uint8Array, contentType: string): void {
  const etag = `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"`
  const headers = { 'content-type': contentType, etag, vary: 'Accept' }
  if (context.headers['if-none-match'] === etag) context.exchange.respond(304, headers)
  else context.exchange.respond(200, headers, body)
}

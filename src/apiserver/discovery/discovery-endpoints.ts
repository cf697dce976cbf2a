/** /api, /apis and what lies below them, plain or aggregated, remembered until something changes. */
import { createHash } from 'node:crypto'
import { notAcceptable } from '#api/meta/status-error.ts'
import type { Discovered, DiscoveredGroup } from '#apiserver/discovery/discovered-groups.ts'
import { apiGroup, apiResourceList, groupDiscovery } from '#apiserver/discovery/discovery.ts'
import { contentTypeOf, encodeValue } from '#apiserver/http/answers.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import { headerChoices } from '#apiserver/http/header-choices.ts'
import { acceptedMedia, negotiate } from '#apiserver/http/negotiation.ts'
import { pageNotFound } from '#apiserver/http/other-endpoints.ts'
import { methodNotAllowed, serverCouldNotFind } from '#apiserver/http/refusals.ts'

export type DiscoverySource = {
  /** What is served, here and elsewhere. */
  groups: Discovered
  /** `10.0.0.1:6443`, what clients are told to call. */
  serverAddress(): string
}

type Source = DiscoverySource & { documents: Documents }

export function discoveryRoute(options: DiscoverySource): (path: string, method: string) => Endpoint | undefined {
  const source = { ...options, documents: new Documents(options.groups) }
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

function documentFor(source: Source, parts: string[]): Endpoint | undefined {
  const [root, first, second, ...rest] = parts
  if (rest.length > 0) return undefined
  const { groups, documents } = source
  if (root === 'api') {
    if (second !== undefined) return undefined
    if (first === undefined) return (context) => respondGroups(context, documents.core(), coreVersions(source))
    return versionDocument('', groups.group(''), first)
  }
  if (root !== 'apis') return undefined
  if (first === undefined) {
    return (context) =>
      respondGroups(context, documents.groups(), { kind: 'APIGroupList', apiVersion: 'v1', groups: namedGroups(groups).map(apiGroup) })
  }
  const group = first === '' ? undefined : groups.group(first)
  if (group === undefined) return pageNotFound
  if (second === undefined) return (context) => respond(context, { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group) })
  return versionDocument(first, group, second)
}

/** Of groups that the server brings along, it says in its own words what they have not; of others nobody says anything. */
export function hasBuiltInKinds(entry: DiscoveredGroup | undefined): boolean {
  return entry?.versions.some(({ definitions }) => definitions.some(({ untyped }) => untyped === undefined)) ?? false
}

const namedGroups = (discovered: Discovered): DiscoveredGroup[] => discovered.groups.filter(({ group }) => group !== '')

/** The aggregated documents, remembered until something changes; of what does not change, the text is kept. */
class Documents {
  readonly #groups: Discovered
  readonly #texts = new WeakMap<DiscoveredGroup, string>()
  readonly #tagged = new Map<string, { revision: number; body: Buffer; etag: string }>()

  constructor(groups: Discovered) {
    this.#groups = groups
  }

  core() {
    return this.#document('core', () => this.#groups.groups.filter(({ group }) => group === ''))
  }

  groups() {
    return this.#document('groups', () => namedGroups(this.#groups))
  }

  #document(name: string, entries: () => DiscoveredGroup[]): (version: string) => { body: Buffer; etag: string } {
    return (version) => {
      const key = `${name} ${version}`
      const { revision } = this.#groups
      const known = this.#tagged.get(key)
      if (known?.revision === revision) return known
      const head = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/${version}","metadata":{},"items":[`
      const body = Buffer.from(
        `${head}${entries()
          .map((entry) => this.#text(entry))
          .join(',')}]}`,
      )
      const etag = `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"`
      const tagged = { revision, body, etag }
      this.#tagged.set(key, tagged)
      return tagged
    }
  }

  #text(entry: DiscoveredGroup): string {
    const text = this.#texts.get(entry) ?? JSON.stringify(groupDiscovery(entry))
    this.#texts.set(entry, text)
    return text
  }
}

function versionDocument(group: string, entry: DiscoveredGroup | undefined, version: string): Endpoint {
  const found = entry?.versions.find((each) => each.version === version)
  if (found === undefined && !hasBuiltInKinds(entry)) return pageNotFound
  return (context) => {
    if (found === undefined) throw serverCouldNotFind()
    respond(context, apiResourceList(group, version, found.definitions))
  }
}

function coreVersions({ groups, serverAddress }: Source): unknown {
  return {
    kind: 'APIVersions',
    versions: groups.group('')?.versions.map(({ version }) => version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: serverAddress() }],
  }
}

const aggregated = /^application\/json;\s*g=apidiscovery\.k8s\.io;\s*v=(v2|v2beta1);\s*as=APIGroupDiscoveryList/

/** Clients that know the aggregated form ask for it first. */
function respondGroups(context: RequestContext, document: ReturnType<Documents['core']>, plain: unknown): void {
  for (const clause of headerChoices(context.headers.accept).split(',')) {
    const text = clause.trim()
    const version = aggregated.exec(text)?.[1]
    if (version !== undefined) {
      respondTagged(context, document(version), `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
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

function respondTagged(context: RequestContext, { body, etag }: { body: Buffer; etag: string }, contentType: string): void {
  const headers = { 'content-type': contentType, etag, vary: 'Accept' }
  if (context.headers['if-none-match'] === etag) context.exchange.respond(304, headers)
  else context.exchange.respond(200, headers, body)
}

/** What the servers behind APIServices serve, as they last said. */

import type { AskRemote } from '#apiserver/aggregation/ask-remote.ts'
import { legacyResources } from '#apiserver/aggregation/legacy-resources.ts'
import { discoveryPath, type RemoteApi, serviceOf } from '#apiserver/aggregation/remote-api.ts'
import type { RemoteApis } from '#apiserver/aggregation/remote-apis.ts'
import type { RemoteVersion, RemoteVersions } from '#apiserver/discovery/discovered-groups.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** `asked` counts the questions: an answer to an earlier one that comes later says nothing any more. */
type Heard = { resources: readonly object[]; isCurrent: boolean; asked: number }
/** What a server that describes everything at once has said: group versions by `group/version`. */
type Document = { etag: string; versions: ReadonlyMap<string, readonly object[]> }

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const unheard: Heard = { resources: [], isCurrent: false, asked: 0 }

export class RemoteDiscovery implements RemoteVersions {
  readonly #apis: RemoteApis
  readonly #ask: AskRemote
  readonly #logger: Logger
  readonly #heard = new Map<string, Heard>()
  readonly #documents = new Map<string, Document>()
  #revision = 0
  #questions = 0

  constructor(apis: RemoteApis, ask: AskRemote, logger: Logger) {
    this.#apis = apis
    this.#ask = ask
    this.#logger = logger
    apis.onChange((name, api) => {
      if (api === undefined) this.#heard.delete(name)
      const used = new Set([...apis.all()].map(serviceOf))
      for (const key of this.#documents.keys()) if (!used.has(key)) this.#documents.delete(key)
    })
  }

  get revision(): number {
    return this.#apis.revision + this.#revision
  }

  versions(): readonly RemoteVersion[] {
    return [...this.#apis.all()].map(({ name, group, version, groupPriority, versionPriority }) => {
      const { resources, isCurrent } = this.#heard.get(name) ?? unheard
      return { group, version, groupPriority, versionPriority, resources, isCurrent }
    })
  }

  /** What it said last is better than nothing while it says nothing. */
  async refresh(api: RemoteApi, isAvailable: boolean): Promise<void> {
    const asked = ++this.#questions
    if (!isAvailable) {
      this.#hear(api.name, { resources: this.#heard.get(api.name)?.resources ?? [], isCurrent: false, asked })
      return
    }
    try {
      this.#hear(api.name, { resources: await this.#resourcesOf(api), isCurrent: true, asked })
    } catch (error) {
      this.#logger.warn('failed to discover resources of APIService', { apiService: api.name, error: (error as Error).message })
      this.#hear(api.name, { resources: this.#heard.get(api.name)?.resources ?? [], isCurrent: false, asked })
    }
  }

  #hear(name: string, heard: Heard): void {
    if (this.#apis.named(name) === undefined) return
    const known = this.#heard.get(name)
    if (known !== undefined && known.asked > heard.asked) return
    this.#heard.set(name, heard)
    if (known?.isCurrent !== heard.isCurrent || JSON.stringify(known.resources) !== JSON.stringify(heard.resources)) this.#revision++
  }

  async #resourcesOf(api: RemoteApi): Promise<readonly object[]> {
    const key = serviceOf(api)
    const known = this.#documents.get(key)
    const answer = await this.#ask(api, { target: '/apis', accept, ...defined({ etag: known?.etag }) })
    if (answer.status === 304 && known !== undefined) return known.versions.get(`${api.group}/${api.version}`) ?? []
    if (answer.status === 503) throw new Error(`service ${key} returned non-success response code: ${answer.status}`)
    if (answer.status === 200 && answer.contentType.includes('as=APIGroupDiscoveryList')) {
      const versions = versionsIn(JSON.parse(answer.text))
      this.#documents.set(key, { etag: answer.etag, versions })
      return versions.get(`${api.group}/${api.version}`) ?? []
    }
    const target = discoveryPath(api)
    const plain = await this.#ask(api, { target, accept: 'application/json' })
    if (plain.status !== 200) throw new Error(`failed to download legacy discovery for ${target}: ${plain.status}`)
    return legacyResources(JSON.parse(plain.text))
  }
}

type GroupDocument = { metadata?: { name?: unknown }; versions?: unknown }
type VersionDocument = { version?: unknown; resources?: unknown }

/** Whatever is not as it should be is left out. */
function versionsIn(document: unknown): Map<string, readonly object[]> {
  const versions = new Map<string, readonly object[]>()
  for (const { metadata, versions: inGroup } of objectsIn<GroupDocument>((document as { items?: unknown } | null)?.items)) {
    for (const { version, resources } of objectsIn<VersionDocument>(inGroup)) {
      versions.set(`${metadata?.name ?? ''}/${version}`, objectsIn<{ responseKind?: unknown }>(resources).map(withResponseKinds))
    }
  }
  return versions
}

/** Some clients cannot do without. */
function withResponseKinds(resource: { responseKind?: unknown; subresources?: unknown }): object {
  const subresources = objectsIn<{ responseKind?: unknown }>(resource.subresources)
  return {
    ...resource,
    responseKind: resource.responseKind ?? { group: '', version: '', kind: '' },
    ...omitEmpty({
      subresources: subresources.map((each) => ({ ...each, responseKind: each.responseKind ?? { group: '', version: '', kind: '' } })),
    }),
  }
}

function objectsIn<T extends object>(value: unknown): T[] {
  return Array.isArray(value) ? value.filter((each): each is T => typeof each === 'object' && each !== null) : []
}

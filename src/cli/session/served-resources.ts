/** What the server serves, kept on disk for some hours so that most commands need not ask. */
import { dirname, join } from 'node:path'
import type { Host } from '#cli/host.ts'
import type { Rest } from './rest.ts'

export type ResourceType = {
  group: string
  version: string
  plural: string
  singular: string
  kind: string
  isNamespaced: boolean
  shortNames: readonly string[]
  categories: readonly string[]
  verbs: readonly string[]
  subresources: readonly string[]
  /** In the version of its group that the server prefers. */
  isPreferred: boolean
}

export type Served = { resources: ResourceType[]; groupVersions: string[]; failures: { groupVersion: string; message: string }[] }

const keptMs = 6 * 60 * 60 * 1000
const aggregated =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json'

export class ServedResources {
  readonly #host: Host
  readonly #rest: Rest
  readonly #path: string
  #served: Promise<Served> | undefined
  /** Asked for in this process: asking again would tell nothing new. */
  #isFresh = false

  constructor({ host, rest, cacheDirectory }: { host: Host; rest: Rest; cacheDirectory: string }) {
    this.#host = host
    this.#rest = rest
    const server = rest.server.replace(/^https?:\/\//, '').replaceAll(/[^(\w/.)]/g, '_')
    this.#path = join(cacheDirectory, 'discovery', server, 'aggregated.json')
  }

  get isFresh(): boolean {
    return this.#isFresh
  }

  get(): Promise<Served> {
    this.#served ??= this.#kept().then((kept) => kept ?? this.#ask())
    return this.#served
  }

  /** Forgets what was kept. */
  refreshed(): Promise<Served> {
    if (!this.#isFresh) this.#served = this.#ask()
    return this.get()
  }

  async #kept(): Promise<Served | undefined> {
    const { files, clock } = this.#host
    try {
      const stat = await files.stat(this.#path)
      if (stat === undefined || clock.now() - stat.modifiedMs > keptMs) return undefined
      return JSON.parse(await files.readText(this.#path)) as Served
    } catch {
      // One that is cut short, or that cannot be read, is no kept answer.
      return undefined
    }
  }

  async #ask(): Promise<Served> {
    this.#isFresh = true
    const served: Served = { resources: [], groupVersions: [], failures: [] }
    const [core, named] = await Promise.all(['/api', '/apis'].map((path) => this.#rest.json<Discovered>({ path, accept: aggregated })))
    await this.#add(served, '/api', core as Discovered)
    await this.#add(served, '/apis', named as Discovered)
    if (served.failures.length === 0) await this.#keep(served)
    return served
  }

  /** A disk that is full, or a home that cannot be written to, costs only the next command some time. */
  async #keep(served: Served): Promise<void> {
    const { files } = this.#host
    try {
      await files.makeDirectory(dirname(this.#path), { mode: 0o750 })
      const draft = `${this.#path}.${this.#host.clock.nowMicros()}`
      await files.append(draft, JSON.stringify(served), { mode: 0o660 })
      await files.rename(draft, this.#path)
    } catch {
      // Told nowhere: kubectl is silent about it, too.
    }
  }

  async #add(served: Served, path: string, answer: Discovered): Promise<void> {
    if (answer.kind === 'APIGroupDiscoveryList') addGroups(served, answer)
    else await this.#addOneByOne(served, path, answer)
  }

  /** Servers that know no aggregated discovery are asked for each version. */
  async #addOneByOne(served: Served, path: string, { versions = [], groups = [] }: Discovered): Promise<void> {
    const lists = path === '/api' ? [versions] : groups.map((group) => group.versions.map(({ groupVersion }) => groupVersion))
    for (const groupVersions of lists) {
      for (const [index, groupVersion] of groupVersions.entries()) {
        served.groupVersions.push(groupVersion)
        try {
          const list = await this.#rest.json<{ resources: ListedResource[] }>({ path: `${path}/${groupVersion}` })
          addListed(served, groupVersion, list.resources, index === 0)
        } catch (error) {
          served.failures.push({ groupVersion, message: (error as Error).message })
        }
      }
    }
  }
}

type Discovered = {
  kind?: string
  versions?: string[]
  groups?: { versions: { groupVersion: string }[] }[]
  items?: {
    metadata: { name?: string }
    versions: {
      version: string
      freshness?: string
      resources?: {
        resource: string
        responseKind?: { kind: string }
        scope: string
        singularResource?: string
        shortNames?: string[]
        categories?: string[]
        verbs?: string[]
        subresources?: { subresource: string }[]
      }[]
    }[]
  }[]
}

type ListedResource = {
  name: string
  singularName: string
  namespaced: boolean
  kind: string
  verbs: string[]
  shortNames?: string[]
  categories?: string[]
}

function addGroups({ resources, groupVersions, failures }: Served, { items = [] }: Discovered): void {
  for (const { metadata, versions } of items) {
    const group = metadata.name ?? ''
    for (const [index, { version, freshness, resources: listed = [] }] of versions.entries()) {
      const groupVersion = group === '' ? version : `${group}/${version}`
      groupVersions.push(groupVersion)
      if (freshness === 'Stale') failures.push({ groupVersion, message: `stale GroupVersion discovery: ${groupVersion}` })
      for (const each of listed) {
        if ((each.verbs ?? []).length === 0) continue
        resources.push({
          group,
          version,
          plural: each.resource,
          singular: each.singularResource ?? '',
          kind: each.responseKind?.kind ?? '',
          isNamespaced: each.scope === 'Namespaced',
          shortNames: each.shortNames ?? [],
          categories: each.categories ?? [],
          verbs: each.verbs ?? [],
          subresources: (each.subresources ?? []).map(({ subresource }) => subresource),
          isPreferred: index === 0,
        })
      }
    }
  }
}

function addListed({ resources }: Served, groupVersion: string, listed: readonly ListedResource[], isPreferred: boolean): void {
  const slash = groupVersion.indexOf('/')
  const [group, version] = slash < 0 ? ['', groupVersion] : [groupVersion.slice(0, slash), groupVersion.slice(slash + 1)]
  for (const { name, singularName, namespaced, kind, verbs, shortNames = [], categories = [] } of listed) {
    if (name.includes('/')) continue
    const subresources = listed.filter((other) => other.name.startsWith(`${name}/`)).map((other) => other.name.slice(name.length + 1))
    resources.push({
      group,
      version,
      plural: name,
      singular: singularName,
      kind,
      isNamespaced: namespaced,
      shortNames,
      categories,
      verbs,
      subresources,
      isPreferred,
    })
  }
}

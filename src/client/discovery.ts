/** What a server serves, and which resource a kind is. */

import type { Kind, Verb } from '#api/kind.ts'
import { apiVersionOf, parseApiVersion } from '#api/meta/gvk.ts'
import { append } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Client } from '#client/client.ts'

/** A resource as the server tells of it: enough to read, write and watch it. */
export type DiscoveredResource = Kind & {
  readonly verbs: readonly Verb[]
  /** Whether this is the version of the group that the server prefers. */
  readonly isPreferred: boolean
  readonly subresourceNames: readonly string[]
}

/** What was found, and which groups could not be asked. */
export type Discovery = { resources: DiscoveredResource[]; failures: { groupVersion: string; error: unknown }[] }

type AggregatedList = {
  kind?: string
  items?: {
    metadata: { name?: string }
    versions: {
      version: string
      freshness?: string
      resources?: {
        resource: string
        responseKind?: { kind: string; group?: string; version?: string }
        scope: 'Namespaced' | 'Cluster'
        singularResource?: string
        shortNames?: string[]
        categories?: string[]
        verbs: Verb[]
        subresources?: { subresource: string }[]
      }[]
    }[]
  }[]
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

/** Two requests where the server has aggregated discovery, one for each group version where it has not. */
export async function discover(client: Client): Promise<Discovery> {
  const found: Discovery = { resources: [], failures: [] }
  for (const path of ['/api', '/apis']) {
    const answer = JSON.parse(await client.raw(path, aggregated)) as AggregatedList
    if (answer.kind === 'APIGroupDiscoveryList') addAggregated(found, answer)
    else await addOneByOne(found, client, path, answer)
  }
  return found
}

function addAggregated({ resources, failures }: Discovery, { items = [] }: AggregatedList): void {
  for (const { metadata, versions } of items) {
    const group = metadata.name ?? ''
    for (const [index, { version, freshness, resources: listed = [] }] of versions.entries()) {
      if (freshness === 'Stale')
        failures.push({ groupVersion: apiVersionOf({ group, version }), error: new Error('stale GroupVersion discovery') })
      for (const { resource, responseKind, scope, singularResource, shortNames, categories, verbs, subresources = [] } of listed) {
        if (verbs.length === 0) continue
        resources.push({
          group,
          version,
          kind: responseKind?.kind ?? '',
          plural: resource,
          scope,
          schema: '',
          verbs,
          isPreferred: index === 0,
          subresourceNames: subresources.map(({ subresource }) => subresource),
          ...omitEmpty({ singular: singularResource }),
          ...defined({ shortNames, categories }),
        })
      }
    }
  }
}

type ResourceList = {
  resources: {
    name: string
    singularName: string
    namespaced: boolean
    kind: string
    verbs: Verb[]
    shortNames?: string[]
    categories?: string[]
  }[]
}

async function addOneByOne({ resources, failures }: Discovery, client: Client, path: string, answer: object): Promise<void> {
  const { versions = [], groups = [] } = answer as { versions?: string[]; groups?: { versions: { groupVersion: string }[] }[] }
  const groupVersions = path === '/api' ? [versions] : groups.map((group) => group.versions.map(({ groupVersion }) => groupVersion))
  for (const ofGroup of groupVersions) {
    for (const [index, groupVersion] of ofGroup.entries()) {
      try {
        const list = JSON.parse(await client.raw(`${path}/${groupVersion}`)) as ResourceList
        append(resources, listedResources(groupVersion, list, index === 0))
      } catch (error) {
        failures.push({ groupVersion, error })
      }
    }
  }
}

function listedResources(groupVersion: string, { resources }: ResourceList, isPreferred: boolean): DiscoveredResource[] {
  const { group, version } = parseApiVersion(groupVersion) ?? { group: '', version: groupVersion }
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, singularName, namespaced, kind, verbs, shortNames, categories }) => ({
      group,
      version,
      kind,
      plural: name,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      schema: '',
      verbs,
      isPreferred,
      subresourceNames: resources.filter((other) => other.name.startsWith(`${name}/`)).map((other) => other.name.slice(name.length + 1)),
      ...omitEmpty({ singular: singularName }),
      ...defined({ shortNames, categories }),
    }))
}

/** The preferred version of each resource that has all these verbs. */
export function preferredResources(resources: Iterable<DiscoveredResource>, verbs: readonly Verb[]): DiscoveredResource[] {
  const chosen = new Map<string, DiscoveredResource>()
  for (const resource of resources) {
    if (!verbs.every((verb) => resource.verbs.includes(verb))) continue
    const name = `${resource.group}/${resource.plural}`
    // A resource that the group's preferred version lacks is taken from the first that has it.
    if (!chosen.has(name) || resource.isPreferred) chosen.set(name, resource)
  }
  return [...chosen.values()]
}

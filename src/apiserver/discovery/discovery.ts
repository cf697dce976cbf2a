/** What the server serves, in the words of the discovery documents. */

import { createHash } from 'node:crypto'
import { allVerbs, type Verb } from '#api/kind.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { DiscoveredGroup } from '#apiserver/discovery/discovered-groups.ts'
import { connectSubresources } from '#apiserver/subresources/connect-subresources.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

type Subresource = { name: string; kind: string; group?: string; version?: string; verbs: readonly string[] }

const updateVerbs = ['get', 'patch', 'update']

/** Subresources of a resource as documents list them. */
export function subresourcesOf(definition: ResourceDefinition): Subresource[] {
  const stored = definition.storedAs?.definition ?? definition
  const found: Subresource[] = []
  for (const [name, rules] of Object.entries(stored.subresources ?? {})) {
    if (rules === undefined) continue
    if ('setReplicas' in rules) {
      const { group, version, kind } = definition.scaleKind ?? { group: 'autoscaling', version: 'v1', kind: 'Scale' }
      found.push({ name, kind, group, version, verbs: updateVerbs })
    } else if (connectSubresources[`${definition.plural}/${name}`] === undefined)
      found.push({ name, kind: definition.kind, verbs: updateVerbs })
  }
  for (const [name, { kind, group, version }] of Object.entries(definition.actions ?? {})) {
    found.push({ name, kind, group, version, verbs: ['create'] })
  }
  for (const [path, entry] of Object.entries(connectSubresources)) {
    const [plural, name = ''] = path.split('/')
    if (plural === definition.plural && entry.group === definition.group) {
      const { kind, kindGroup, kindVersion, verbs } = entry
      found.push({
        name,
        kind,
        verbs,
        ...defined({ group: kindGroup, version: kindVersion }),
      })
    }
  }
  return found
}

function groupVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

export function apiResourceList(group: string, version: string, definitions: readonly ResourceDefinition[]): unknown {
  const resources: Record<string, unknown>[] = []
  for (const definition of definitions) {
    const { plural, kind, scope, shortNames, categories } = definition
    const namespaced = scope === 'Namespaced'
    resources.push({
      name: plural,
      singularName: definition.singular ?? kind.toLowerCase(),
      namespaced,
      kind,
      verbs: verbsOf(definition),
      ...defined({ shortNames, categories }),
      ...storageHash(definition),
    })
    for (const each of subresourcesOf(definition)) {
      resources.push({
        name: `${plural}/${each.name}`,
        singularName: '',
        namespaced,
        ...defined({ group: each.group, version: each.version }),
        kind: each.kind,
        verbs: each.verbs,
      })
    }
  }
  if (definitions.every(({ untyped }) => untyped === undefined)) {
    resources.sort((left, right) => (String(left['name']) < String(right['name']) ? -1 : 1))
  }
  // The core document has no apiVersion, for clients that are older than it.
  return {
    kind: 'APIResourceList',
    ...defined({ apiVersion: group === '' ? undefined : 'v1' }),
    groupVersion: groupVersion(group, version),
    resources,
  }
}

/** In the order upstream has them. */
const customVerbs: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']

function verbsOf({ verbs = allVerbs, untyped }: ResourceDefinition): readonly Verb[] {
  return untyped === undefined ? [...verbs].sort() : customVerbs
}

/** Kinds that upstream stores in an older version than the newest; the hash is of what it would store. */
const upstreamStorageVersions: Readonly<Record<string, string>> = {
  'admissionregistration.k8s.io/MutatingAdmissionPolicy': 'v1beta1',
  'admissionregistration.k8s.io/MutatingAdmissionPolicyBinding': 'v1beta1',
  'apiextensions.k8s.io/CustomResourceDefinition': 'v1beta1',
  'certificates.k8s.io/ClusterTrustBundle': 'v1beta1',
  'certificates.k8s.io/PodCertificateRequest': 'v1beta1',
  'coordination.k8s.io/LeaseCandidate': 'v1beta1',
  'resource.k8s.io/DeviceTaintRule': 'v1alpha3',
  'resource.k8s.io/ResourcePoolStatusRequest': 'v1alpha3',
  'scheduling.k8s.io/PodGroup': 'v1alpha2',
  'scheduling.k8s.io/Workload': 'v1alpha2',
}

function storageHash(definition: ResourceDefinition): { storageVersionHash?: string } {
  const verbs = definition.verbs ?? allVerbs
  if (!verbs.includes('list') || !verbs.includes('create')) return {}
  const { group, version: ours, kind } = definition.untyped?.storage() ?? definition.storedAs?.definition ?? definition
  const version = upstreamStorageVersions[`${group}/${kind}`] ?? ours
  const hash = createHash('sha256').update(`${group}/${version}/${kind}`).digest()
  return { storageVersionHash: hash.subarray(0, 8).toString('base64') }
}

export function apiGroup({ group: name, versions }: DiscoveredGroup): Record<string, unknown> {
  const entries = versions.map(({ version }) => ({ groupVersion: groupVersion(name, version), version }))
  return { name, versions: entries, preferredVersion: entries[0] }
}

/** The aggregated form: everything in one document. */
export function groupDiscovery({ group: name, versions }: DiscoveredGroup): unknown {
  return {
    metadata: name === '' ? {} : { name },
    versions: versions.map(({ version, definitions, remote }) => ({
      version,
      ...defined({
        resources: remote !== undefined && remote.resources.length === 0 ? undefined : (remote?.resources ?? resourcesOf(definitions)),
      }),
      freshness: remote === undefined || remote.isCurrent ? 'Current' : 'Stale',
    })),
  }
}

function resourcesOf(definitions: readonly ResourceDefinition[]) {
  return definitions.map((definition) => resourceDiscovery(definition)).sort((left, right) => (left.resource < right.resource ? -1 : 1))
}

function resourceDiscovery(definition: ResourceDefinition) {
  const { plural, kind, scope, shortNames, categories } = definition
  const own = definition.untyped === undefined ? { group: '', version: '' } : { group: definition.group, version: definition.version }
  const subresources = subresourcesOf(definition)
    .map(({ name, kind: each, group = own.group, version = own.version, verbs }) => ({
      subresource: name,
      responseKind: { group, version, kind: each },
      verbs,
    }))
    .sort((left, right) => (left.subresource < right.subresource ? -1 : 1))
  return {
    resource: plural,
    responseKind: { ...own, kind },
    scope: scope === 'Namespaced' ? 'Namespaced' : 'Cluster',
    singularResource: definition.singular ?? kind.toLowerCase(),
    verbs: verbsOf(definition),
    ...defined({ shortNames, categories }),
    ...omitEmpty({ subresources }),
  }
}

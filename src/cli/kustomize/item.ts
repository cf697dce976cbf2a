/** An object of a build, and what it was called on its way. */
import { knownKinds } from '#api/known-kinds.gen.ts'
import type { ApiObject } from '#cli/call.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'

export type Gvk = { group?: string; version?: string; kind?: string }

/** What an object is known by at one moment of the build. */
export type Identity = { group: string; version: string; kind: string; name: string; namespace: string }

export type Item = {
  object: ApiObject
  /** The oldest first; patches and references may speak of an object by each of them. */
  formerIdentities: Identity[]
  prefixes: string[]
  suffixes: string[]
  /** A hash of the content is put at the end of the name. */
  needsHash?: boolean
  /** Helm has put it where it belongs. */
  isFromChart?: boolean
}

export const itemOf = (object: ApiObject): Item => ({ object, formerIdentities: [], prefixes: [], suffixes: [] })

export function identityOf({ object }: Item): Identity {
  const [group, version] = groupAndVersion(object.apiVersion ?? '')
  return { group, version, kind: object.kind ?? '', name: object.metadata?.name ?? '', namespace: object.metadata?.namespace ?? '' }
}

/** To be called before a name, namespace or kind changes. */
export function rememberIdentity(item: Item): void {
  const identity = identityOf(item)
  item.formerIdentities.push({ ...identity, namespace: effectiveNamespace(identity) })
}

export const originalIdentity = (item: Item): Identity => item.formerIdentities[0] ?? identityOf(item)

export const everyIdentity = (item: Item): Identity[] => [...item.formerIdentities, identityOf(item)]

let clusterWide: Set<string> | undefined

/** Kinds that nobody knows are taken for namespaced. */
export function isClusterWide({ group, kind }: Identity): boolean {
  clusterWide ??= new Set([
    ...knownKinds.filter(({ scope }) => scope === 'Cluster').map((known) => `${known.group}/${known.kind}`),
    'policy/PodSecurityPolicy',
    'extensions/PodSecurityPolicy',
  ])
  return clusterWide.has(`${group}/${kind}`)
}

const nowhere = '_non_namespaceable_'

export function effectiveNamespace(identity: Identity): string {
  if (isClusterWide(identity)) return nowhere
  return identity.namespace === '' ? 'default' : identity.namespace
}

export const sameNamespace = (one: Identity, other: Identity): boolean => effectiveNamespace(one) === effectiveNamespace(other)

export const sameIdentity = (one: Identity, other: Identity): boolean =>
  one.name === other.name && isSelectedBy(one, other) && isSelectedBy(other, one) && sameNamespace(one, other)

/** What the selector leaves open fits everything. */
export function isSelectedBy(one: Gvk, { group = '', version = '', kind = '' }: Gvk): boolean {
  return (group === '' || one.group === group) && (version === '' || one.version === version) && (kind === '' || one.kind === kind)
}

/** As errors call it: `Deployment.v1.apps/name.namespace`. */
export function identityText({ group, version, kind, name, namespace }: Identity): string {
  return `${gvkText({ group, version, kind })}/${name || '[noName]'}.${namespace || '[noNs]'}`
}

export function gvkText({ group = '', version = '', kind = '' }: Gvk): string {
  return `${kind || '[noKind]'}.${version || '[noVer]'}.${group || '[noGrp]'}`
}

/** The groups clients are told of: those of this server, and those of others that APIServices name. */
import { groupPriority, versionPriority } from '#api/meta/group-priorities.ts'
import { compareVersions } from '#api/meta/gvk.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { GroupEntry, Scheme } from '#api/scheme.ts'

/** What another server says it serves, in the words of aggregated discovery. */
export type RemoteVersion = {
  readonly group: string
  readonly version: string
  readonly groupPriority: number
  readonly versionPriority: number
  readonly resources: readonly object[]
  /** It has said so lately. */
  readonly isCurrent: boolean
}

export type DiscoveredVersion = {
  readonly version: string
  /** None where it is another server's. */
  readonly definitions: readonly ResourceDefinition[]
  readonly remote?: RemoteVersion
}

export type DiscoveredGroup = { readonly group: string; readonly versions: readonly DiscoveredVersion[] }

export type Discovered = {
  /** Another one whenever something changes. */
  readonly revision: number
  /** In the order clients prefer them in. */
  readonly groups: readonly DiscoveredGroup[]
  group(name: string): DiscoveredGroup | undefined
}

export type RemoteVersions = { readonly revision: number; versions(): readonly RemoteVersion[] }

type LocalGroups = Pick<Scheme, 'revision' | 'groups'>

export class DiscoveredGroups implements Discovered {
  readonly #local: LocalGroups
  readonly #remote: RemoteVersions
  #known: { revision: number; groups: readonly DiscoveredGroup[]; byName: ReadonlyMap<string, DiscoveredGroup> } | undefined

  constructor(local: LocalGroups, remote: RemoteVersions) {
    this.#local = local
    this.#remote = remote
  }

  get revision(): number {
    return this.#local.revision + this.#remote.revision
  }

  get groups(): readonly DiscoveredGroup[] {
    return this.#current().groups
  }

  group(name: string): DiscoveredGroup | undefined {
    return this.#current().byName.get(name)
  }

  #current() {
    const { revision } = this
    if (this.#known?.revision === revision) return this.#known
    const groups = mergedGroups(this.#local.groups, this.#remote.versions())
    this.#known = { revision, groups, byName: new Map(groups.map((each) => [each.group, each])) }
    return this.#known
  }
}

/** A group is as important as the most important of its versions. Entries that nothing is added to are the given ones. */
export function mergedGroups(local: readonly GroupEntry[], remote: readonly RemoteVersion[]): readonly DiscoveredGroup[] {
  if (remote.length === 0) return local
  const added = Map.groupBy(remote, ({ group }) => group)
  const own = new Map(local.map((entry) => [entry.group, entry]))
  const names = new Set([...own.keys(), ...added.keys()])
  const merged = [...names].map((group) => {
    const others = added.get(group) ?? []
    const entry = own.get(group)
    const isOwn = entry?.versions.some(({ version }) => !others.some((each) => each.version === version))
    const priority = Math.max(isOwn ? groupPriority(group) : 0, ...others.map((each) => each.groupPriority))
    return { priority, group: mergedGroup(group, entry, others) }
  })
  return merged
    .sort((one, other) => other.priority - one.priority || (one.group.group < other.group.group ? -1 : 1))
    .map(({ group }) => group)
}

function mergedGroup(group: string, entry: GroupEntry | undefined, others: readonly RemoteVersion[]): DiscoveredGroup {
  if (others.length === 0 && entry !== undefined) return entry
  const taken = new Set(others.map(({ version }) => version))
  const versions = [
    ...(entry?.versions ?? [])
      .filter(({ version }) => !taken.has(version))
      .map((each) => ({ priority: versionPriority(group, each.version), ...each })),
    ...others.map((remote) => ({ priority: remote.versionPriority, version: remote.version, definitions: [], remote })),
  ]
  versions.sort((one, other) => other.priority - one.priority || compareVersions(one.version, other.version))
  return { group, versions: versions.map(({ priority: _, ...version }) => version) }
}

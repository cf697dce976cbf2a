/** The registry of groups, versions, kinds and resources: everything that asks "what is this?" asks here. */
import { compareGroups, compareGroupVersions } from '#api/meta/group-priorities.ts'
import { apiVersionOf, type GroupKind, parseApiVersion } from '#api/meta/gvk.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'

export type VersionEntry = { version: string; definitions: readonly ResourceDefinition[] }

/** A group and what it serves, the preferred version first. */
export type GroupEntry = { group: string; versions: readonly [VersionEntry, ...VersionEntry[]] }

type Version = { byPlural: Map<string, ResourceDefinition>; byKind: Map<string, ResourceDefinition> }

/**
 * Holds what one server (or client) knows. Kinds may come and go at any time; who keeps something made from the scheme
 * compares `revision`, or subscribes.
 */
export class Scheme {
  readonly #groups = new Map<string, Map<string, Version>>()
  readonly #listeners = new Set<() => void>()
  #revision = 0
  #ordered: readonly GroupEntry[] | undefined
  #byName: Map<string, readonly ResourceDefinition[]> | undefined

  constructor(definitions: Iterable<ResourceDefinition> = []) {
    for (const definition of definitions) this.#put(definition)
  }

  /** Counts changes. */
  get revision(): number {
    return this.#revision
  }

  /** Calls back after each change; the result ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Adds kinds, or puts them in the place of those with the same group, version and plural name. */
  add(...definitions: ResourceDefinition[]): void {
    for (const definition of definitions) this.#put(definition)
    this.#changed()
  }

  /** What is not there need not be removed. */
  remove(...definitions: Pick<ResourceDefinition, 'group' | 'version' | 'plural'>[]): void {
    for (const { group, version, plural } of definitions) {
      const versions = this.#groups.get(group)
      const entry = versions?.get(version)
      const definition = entry?.byPlural.get(plural)
      if (versions === undefined || entry === undefined || definition === undefined) continue
      entry.byPlural.delete(plural)
      entry.byKind.delete(definition.kind)
      if (entry.byPlural.size === 0) versions.delete(version)
      if (versions.size === 0) this.#groups.delete(group)
    }
    this.#changed()
  }

  #put(definition: ResourceDefinition): void {
    const { group, version, plural, kind } = definition
    const versions = this.#groups.get(group) ?? new Map<string, Version>()
    const entry = versions.get(version) ?? { byPlural: new Map(), byKind: new Map() }
    this.#groups.set(group, versions.set(version, entry))
    const replaced = entry.byPlural.get(plural)
    if (replaced !== undefined) entry.byKind.delete(replaced.kind)
    entry.byPlural.set(plural, definition)
    entry.byKind.set(kind, definition)
  }

  #changed(): void {
    this.#revision++
    this.#ordered = undefined
    this.#byName = undefined
    for (const listener of [...this.#listeners]) listener()
  }

  byResource(group: string, version: string, plural: string): ResourceDefinition | undefined {
    return this.#groups.get(group)?.get(version)?.byPlural.get(plural)
  }

  byKind(group: string, version: string, kind: string): ResourceDefinition | undefined {
    return this.#groups.get(group)?.get(version)?.byKind.get(kind)
  }

  /** What an object says it is. */
  of(object: KubernetesObject): ResourceDefinition | undefined {
    const parsed = parseApiVersion(object.apiVersion ?? '')
    return parsed && this.byKind(parsed.group, parsed.version, object.kind ?? '')
  }

  /** All groups, in the order of discovery. */
  get groups(): readonly GroupEntry[] {
    this.#ordered ??= [...this.#groups.keys()].sort(compareGroups).map((group) => this.#entryOf(group))
    return this.#ordered
  }

  group(name: string): GroupEntry | undefined {
    return this.groups.find(({ group }) => group === name)
  }

  #entryOf(group: string): GroupEntry {
    const versions = [...(this.#groups.get(group) ?? [])]
      .map(([version, { byPlural }]) => ({ version, definitions: [...byPlural.values()].sort(byPluralName) }))
      .sort((one, other) => compareGroupVersions(group, one.version, other.version))
    const [first, ...others] = versions
    if (first === undefined) throw new Error(`the group ${group} has no versions`)
    return { group, versions: [first, ...others] }
  }

  /** All definitions, preferred groups and versions first. */
  *definitions(): Generator<ResourceDefinition> {
    for (const { versions } of this.groups) for (const { definitions } of versions) yield* definitions
  }

  /** REST mapping: where a kind is served, in one of these versions if given, otherwise in the preferred one that has it. */
  mappingOf({ group, kind }: GroupKind, versions?: readonly string[]): ResourceDefinition | undefined {
    const entries = this.group(group)?.versions ?? []
    for (const version of versions ?? entries.map((entry) => entry.version)) {
      const definition = this.byKind(group, version, kind)
      if (definition !== undefined) return definition
    }
    return undefined
  }

  /** The resource in the preferred version that has it. */
  preferred(group: string, plural: string): ResourceDefinition | undefined {
    for (const { version } of this.group(group)?.versions ?? []) {
      const definition = this.byResource(group, version, plural)
      if (definition !== undefined) return definition
    }
    return undefined
  }

  /**
   * What people type: `pods`, `pod`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`. The best match first, one per group;
   * plural names beat singular ones, those beat short names. A group may be cut short.
   */
  resolve(text: string): readonly ResourceDefinition[] {
    const [name = '', ...rest] = text.toLowerCase().split('.')
    const named = this.#named().get(name) ?? []
    if (rest.length === 0) return oneEachGroup(named)
    const [version = '', ...group] = rest
    const exact = named.filter((each) => group.length > 0 && each.version === version && each.group === group.join('.'))
    if (exact.length > 0) return oneEachGroup(exact)
    const typed = rest.join('.')
    const whole = named.filter((each) => each.group === typed)
    return oneEachGroup(whole.length > 0 ? whole : named.filter((each) => each.group.startsWith(typed)))
  }

  #named(): Map<string, readonly ResourceDefinition[]> {
    if (this.#byName !== undefined) return this.#byName
    const names = new Map<string, ResourceDefinition[]>()
    const put = (name: string, definition: ResourceDefinition) => {
      const list = names.get(name)
      if (list === undefined) names.set(name, [definition])
      else if (!list.includes(definition)) list.push(definition)
    }
    const all = [...this.definitions()]
    for (const each of all) put(each.plural, each)
    for (const each of all) put(singularOf(each), each)
    for (const each of all) put(each.kind.toLowerCase(), each)
    for (const each of all) for (const name of each.shortNames ?? []) put(name, each)
    this.#byName = names
    return names
  }

  /** `all` and such: preferred versions only. */
  category(name: string): readonly ResourceDefinition[] {
    const all = [...this.definitions()].filter((each) => each.categories?.includes(name))
    return all.filter((each) => all.find((other) => other.group === each.group && other.plural === each.plural) === each)
  }
}

const byPluralName = (one: ResourceDefinition, other: ResourceDefinition): number => (one.plural < other.plural ? -1 : 1)

function oneEachGroup(definitions: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
  const seen = new Set<string>()
  return definitions.filter(({ group, plural }) => {
    const key = `${plural}.${group}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

export const singularOf = ({ singular, kind }: ResourceDefinition): string => singular ?? kind.toLowerCase()

export const listKindOf = ({ listKind, kind }: ResourceDefinition): string => listKind ?? `${kind}List`

/** `apps/v1` */
export const definitionApiVersion = (definition: ResourceDefinition): string => apiVersionOf(definition)

/** The definition an object of this one is stored as; most are stored as themselves. */
export function storedDefinition(definition: ResourceDefinition): ResourceDefinition {
  return definition.storedAs?.definition ?? definition
}

/** Gives up `object`: it may be changed, and may be what is returned. */
export function toStored(object: KubernetesObject, definition: ResourceDefinition): KubernetesObject {
  const { storedAs } = definition
  return storedAs === undefined ? object : stamped(storedAs.toStored(object), storedAs.definition)
}

/** The reverse of toStored, under the same terms. */
export function fromStored(object: KubernetesObject, definition: ResourceDefinition): KubernetesObject {
  const { storedAs } = definition
  return storedAs === undefined ? object : stamped(storedAs.fromStored(object), definition)
}

/** From any version of a kind to any other, through the stored one. Gives up `object`. */
export function convert(object: KubernetesObject, from: ResourceDefinition, to: ResourceDefinition): KubernetesObject {
  if (from === to) return object
  if (storedDefinition(from) !== storedDefinition(to)) {
    throw new Error(`${apiVersionOf(from)} ${from.kind} does not convert to ${apiVersionOf(to)} ${to.kind}`)
  }
  return fromStored(toStored(object, from), to)
}

function stamped(object: KubernetesObject, definition: ResourceDefinition): KubernetesObject {
  object.apiVersion = apiVersionOf(definition)
  object.kind = definition.kind
  return object
}

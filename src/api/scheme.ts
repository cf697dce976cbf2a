/** The registry of groups, versions, kinds and resources: everything that asks "what is this?" asks here. */

import { compareGroups, compareGroupVersions } from '#api/meta/group-priorities.ts'
import { apiVersionOf, type GroupKind, parseApiVersion } from '#api/meta/gvk.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { append } from '#base/append.ts'

export type VersionEntry<Definition = ResourceDefinition> = { version: string; definitions: readonly Definition[] }

/** A group and what it serves, the preferred version first. The same value as long as nothing of the group changes. */
export type GroupEntry<Definition = ResourceDefinition> = {
  group: string
  versions: readonly [VersionEntry<Definition>, ...VersionEntry<Definition>[]]
}

/** Kinds that came and went together; one that was replaced did both. */
export type SchemeChange<Definition extends ResourceDefinition = ResourceDefinition> = {
  readonly added: readonly Definition[]
  readonly removed: readonly Definition[]
}

type Place = Pick<ResourceDefinition, 'group' | 'version' | 'plural'>

type Version<Definition> = { byPlural: Map<string, Definition>; byKind: Map<string, Definition> }

/**
 * Holds what one server serves, or what a client knows of it. Kinds may come and go at any time; who keeps something made from
 * the scheme compares `revision`, or subscribes.
 */
export class Scheme<Definition extends ResourceDefinition = ResourceDefinition> {
  readonly #groups = new Map<string, Map<string, Version<Definition>>>()
  readonly #listeners = new Set<(change: SchemeChange<Definition>) => void>()
  #revision = 0
  readonly #entries = new Map<string, GroupEntry<Definition>>()
  #ordered: readonly GroupEntry<Definition>[] | undefined
  #byName: Map<string, readonly Definition[]> | undefined

  constructor(definitions: Iterable<Definition> = []) {
    for (const definition of definitions) this.#put(definition)
  }

  /** Counts changes. */
  get revision(): number {
    return this.#revision
  }

  /** Calls back after each change; the result ends it. */
  onChange(listener: (change: SchemeChange<Definition>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Adds kinds, or puts them in the place of those with the same group, version and plural name. */
  add(...definitions: Definition[]): void {
    this.update({ add: definitions })
  }

  /** What is not there need not be removed. */
  remove(...definitions: Place[]): void {
    this.update({ remove: definitions })
  }

  /** All at once: nobody sees a state in between. */
  update({ add = [], remove = [] }: { add?: readonly Definition[]; remove?: readonly Place[] }): void {
    const removed: Definition[] = []
    for (const place of remove) append(removed, this.#take(place))
    for (const definition of add) append(removed, this.#put(definition))
    if (add.length === 0 && removed.length === 0) return
    this.#revision++
    this.#ordered = undefined
    this.#byName = undefined
    for (const listener of [...this.#listeners]) listener({ added: add, removed })
  }

  #put(definition: Definition): Definition[] {
    const { group, version, plural, kind } = definition
    const replaced = this.#take(definition)
    const versions = this.#groups.get(group) ?? new Map<string, Version<Definition>>()
    const entry = versions.get(version) ?? { byPlural: new Map(), byKind: new Map() }
    this.#groups.set(group, versions.set(version, entry))
    this.#entries.delete(group)
    entry.byPlural.set(plural, definition)
    entry.byKind.set(kind, definition)
    return replaced
  }

  #take({ group, version, plural }: Place): Definition[] {
    const versions = this.#groups.get(group)
    const entry = versions?.get(version)
    const definition = entry?.byPlural.get(plural)
    if (versions === undefined || entry === undefined || definition === undefined) return []
    entry.byPlural.delete(plural)
    if (entry.byKind.get(definition.kind) === definition) entry.byKind.delete(definition.kind)
    if (entry.byPlural.size === 0) versions.delete(version)
    if (versions.size === 0) this.#groups.delete(group)
    this.#entries.delete(group)
    return [definition]
  }

  byResource(group: string, version: string, plural: string): Definition | undefined {
    return this.#groups.get(group)?.get(version)?.byPlural.get(plural)
  }

  byKind(group: string, version: string, kind: string): Definition | undefined {
    return this.#groups.get(group)?.get(version)?.byKind.get(kind)
  }

  /** All of a group and version, in no order. */
  inVersion(group: string, version: string): readonly Definition[] {
    return [...(this.#groups.get(group)?.get(version)?.byPlural.values() ?? [])]
  }

  /** What an object says it is. */
  of(object: KubernetesObject): Definition | undefined {
    const parsed = parseApiVersion(object.apiVersion ?? '')
    return parsed && this.byKind(parsed.group, parsed.version, object.kind ?? '')
  }

  /** All groups, in the order of discovery. */
  get groups(): readonly GroupEntry<Definition>[] {
    this.#ordered ??= [...this.#groups.keys()].sort(compareGroups).map((group) => this.#entryOf(group))
    return this.#ordered
  }

  group(name: string): GroupEntry<Definition> | undefined {
    return this.#groups.has(name) ? this.#entryOf(name) : undefined
  }

  #entryOf(group: string): GroupEntry<Definition> {
    const known = this.#entries.get(group)
    if (known !== undefined) return known
    const versions = [...(this.#groups.get(group) ?? [])]
      .map(([version, { byPlural }]) => ({ version, definitions: [...byPlural.values()].sort(byPluralName) }))
      .sort((one, other) => compareGroupVersions(group, one.version, other.version))
    const [first, ...others] = versions
    if (first === undefined) throw new Error(`the group ${group} has no versions`)
    const entry: GroupEntry<Definition> = { group, versions: [first, ...others] }
    this.#entries.set(group, entry)
    return entry
  }

  /** All definitions, preferred groups and versions first. */
  *definitions(): Generator<Definition> {
    for (const { versions } of this.groups) for (const { definitions } of versions) yield* definitions
  }

  /** REST mapping: where a kind is served, in one of these versions if given, otherwise in the preferred one that has it. */
  mappingOf({ group, kind }: GroupKind, versions?: readonly string[]): Definition | undefined {
    const entries = this.group(group)?.versions ?? []
    for (const version of versions ?? entries.map((entry) => entry.version)) {
      const definition = this.byKind(group, version, kind)
      if (definition !== undefined) return definition
    }
    return undefined
  }

  /** The resource in the preferred version that has it. */
  preferred(group: string, plural: string): Definition | undefined {
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
  resolve(text: string): readonly Definition[] {
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

  #named(): Map<string, readonly Definition[]> {
    if (this.#byName !== undefined) return this.#byName
    const names = new Map<string, Definition[]>()
    const put = (name: string, definition: Definition) => {
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
  category(name: string): readonly Definition[] {
    const all = [...this.definitions()].filter((each) => each.categories?.includes(name))
    return all.filter((each) => all.find((other) => other.group === each.group && other.plural === each.plural) === each)
  }
}

const byPluralName = (one: ResourceDefinition, other: ResourceDefinition): number => (one.plural < other.plural ? -1 : 1)

function oneEachGroup<Definition extends ResourceDefinition>(definitions: readonly Definition[]): readonly Definition[] {
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

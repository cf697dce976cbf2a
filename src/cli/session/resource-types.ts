/** Which resource a user means by `po`, `Deployment`, `ingresses.v1.networking.k8s.io`. */
import { NoResourceError } from '#cli/cli-error.ts'
import { splitAt } from './resolve-context.ts'
import type { ResourceType, Served, ServedResources } from './served-resources.ts'

export class ResourceTypes {
  readonly #served: ServedResources
  readonly #warn: (text: string) => void

  constructor(served: ServedResources, warn: (text: string) => void) {
    this.#served = served
    this.#warn = warn
  }

  /** Throws `NoResourceError`. */
  async named(argument: string): Promise<ResourceType> {
    const found = await this.find(argument)
    if (found !== undefined) return found
    throw new NoResourceError(splitAt(argument, '.')[0], '', '')
  }

  async find(argument: string): Promise<ResourceType | undefined> {
    const found = await this.#look((served) => findNamed(served, argument))
    if (found !== undefined && isShortFor(found, argument))
      for (const each of othersCalled(await this.#served.get(), argument, found))
        this.#warn(`short name ${JSON.stringify(argument)} could also match lower priority resource ${each}`)
    return found
  }

  /** Each resource that a word without a group may mean, the first of them first. */
  async allNamed(word: string): Promise<ResourceType[]> {
    const first = await this.find(word)
    if (first === undefined) return []
    const { resources } = await this.#served.get()
    const name = isShortFor(first, word) ? first.plural : word.toLowerCase()
    return resources.filter((each) => each.plural === name || each.singular === name || each.kind.toLowerCase() === name)
  }

  /** The resource that objects of this kind are of; undefined where the server has none. */
  async ofKind(apiVersion: string, kind: string): Promise<ResourceType | undefined> {
    const [group, version] = groupAndVersion(apiVersion)
    return this.#look(({ resources }) => resources.find((each) => each.kind === kind && each.group === group && each.version === version))
  }

  /** The preferred version of each resource of a category; empty where there is no such category. */
  async inCategory(category: string): Promise<ResourceType[]> {
    const { resources } = await this.#served.get()
    const members = new Map<string, ResourceType>()
    for (const each of resources) {
      if (!each.categories.includes(category)) continue
      const key = `${each.plural}.${each.group}`
      if (!members.has(key)) members.set(key, each)
    }
    return [...members.values()]
  }

  /** Everything; `isFresh` asks the server though something is kept. */
  async all(isFresh = false): Promise<Served> {
    return isFresh ? this.#served.refreshed() : this.#served.get()
  }

  /** What is kept may be old: before saying that there is none, the server is asked. */
  async #look(find: (served: Served) => ResourceType | undefined): Promise<ResourceType | undefined> {
    const found = find(await this.#served.get())
    return found ?? (this.#served.isFresh ? undefined : find(await this.#served.refreshed()))
  }
}

export function groupAndVersion(apiVersion: string): [group: string, version: string] {
  const [first, second] = splitAt(apiVersion, '/')
  return second === undefined ? ['', first] : [first, second]
}

export const apiVersionOf = ({ group, version }: { group: string; version: string }): string =>
  group === '' ? version : `${group}/${version}`

/** `deployments.apps`, and `pods` for what is of the core group. */
export const resourceText = ({ plural, group }: ResourceType): string => (group === '' ? plural : `${plural}.${group}`)

/** `deployment.apps`: what messages and `-o name` call it. */
export const singularText = ({ kind, group }: { kind: string; group: string }): string =>
  group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`

function findNamed({ resources }: Served, argument: string): ResourceType | undefined {
  const [name, rest = ''] = splitAt(argument, '.')
  // Some resources have no singular name.
  if (name === '') return undefined
  const [version, group] = splitAt(rest, '.')
  const ofVersion = group === undefined ? undefined : versioned(resources, name, group, version)
  return (
    ofVersion ??
    best(resources, name, (each) => rest === '' || each.group === rest) ??
    (rest === '' ? undefined : prefixed(resources, name, rest))
  )
}

/** Behind a short name kubectl forgets the version, and part of the group's name is enough. */
function versioned(resources: readonly ResourceType[], name: string, group: string, version: string): ResourceType | undefined {
  const found = best(resources, name, (each) => each.version === version && each.group === group)
  if (found !== undefined) return found
  const called = resources.filter((each) => isShortFor(each, name))
  return called.find((each) => each.group === group) ?? (group === '' ? undefined : called.find((each) => each.group.startsWith(group)))
}

const isShortFor = ({ plural, singular, shortNames }: ResourceType, name: string): boolean =>
  plural !== name && singular !== name && shortNames.includes(name)

/** Other resources with that short name. */
function othersCalled({ resources }: Served, name: string, found: ResourceType): Set<string> {
  const others = resources.filter((each) => each.shortNames.includes(name) && (each.group !== found.group || each.plural !== found.plural))
  return new Set(others.map(resourceText))
}

/** Part of a group's name is enough where it is plain which is meant. */
function prefixed(resources: readonly ResourceType[], name: string, group: string): ResourceType | undefined {
  return best(resources, name, (each) => each.group.startsWith(group))
}

/** Names before short names, which alone must be written as they are, before kinds; of several groups the first, of several versions the preferred one that has it. */
function best(resources: readonly ResourceType[], name: string, isWanted: (each: ResourceType) => boolean): ResourceType | undefined {
  const wanted = resources.filter(isWanted)
  const lower = name.toLowerCase()
  return (
    wanted.find(({ plural, singular }) => plural === lower || singular === lower) ??
    wanted.find(({ shortNames }) => shortNames.includes(name)) ??
    wanted.find(({ kind }) => kind.toLowerCase() === lower)
  )
}

/** The path of a resource, or of one object of it. */
export function resourcePath(
  type: { group: string; version: string; plural: string },
  namespace: string,
  name = '',
  subresource = '',
): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`
  const place = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${place}/${type.plural}${name === '' ? '' : `/${encodeURIComponent(name)}`}${subresource === '' ? '' : `/${subresource}`}`
}

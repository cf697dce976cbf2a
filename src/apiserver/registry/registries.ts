/** The registries of all stored resources, and the served versions over them. */
import type { Kind } from '#api/kind.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { type Scheme, type SchemeChange, storedDefinition } from '#api/scheme.ts'
import { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { UnreadableValue } from '#apiserver/encryption/transformer.ts'
import { ServedResource } from '#apiserver/http/served-resource.ts'
import type { RegistryOptions } from '#apiserver/registry/registry-options.ts'
import { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import { storagePrefix } from '#apiserver/registry/storage-key.ts'
import type { TypedRegistry } from '#apiserver/registry/typed-registry.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import { OldChanges } from '#apiserver/watch-cache/change-window.ts'
import { GradualReplay } from '#apiserver/watch-cache/gradual-replay.ts'
import { type ObjectView, VersionCache } from '#apiserver/watch-cache/version-cache.ts'
import { WatchCache } from '#apiserver/watch-cache/watch-cache.ts'

export type RegistriesOptions = Omit<
  RegistryOptions,
  'definition' | 'cache' | 'hooks' | 'encode' | 'lease' | 'transformer' | 'labelsOfNamespace'
> & {
  /** What is served; registries come and go with it. */
  scheme: Scheme
  /** What a resource needs beyond the common: hooks, a lease, encryption, another encoding. */
  perResource(definition: ResourceDefinition): Pick<RegistryOptions, 'encode'> &
    Partial<Pick<RegistryOptions, 'hooks' | 'lease' | 'transformer'>> & {
      /** How stored objects are shown, where not as they are stored. */
      view?: ObjectView | undefined
    }
}

/** What is kept under one prefix of the store, the registries over it, and the served versions that show it. */
type Kept = {
  readonly cache: WatchCache
  readonly owner: { readonly group: string; readonly resource: string }
  /** Of the stored kind; where versions have rules of their own, of the version that objects are stored in. */
  registry: ResourceRegistry
  readonly served: Set<ServedResource>
}

export class Registries {
  readonly #options: RegistriesOptions
  /** By storage prefix: versions of one resource, and groups that share one, share the registry. */
  readonly #byPrefix = new Map<string, Kept>()
  readonly #served = new Map<string, ServedResource>()
  /** By `group/plural`, for those who do not care for the version. */
  readonly #byResource = new Map<string, ResourceRegistry>()
  readonly #stopFollowing: () => void
  readonly #oldChanges = new OldChanges()
  #isStarted = false

  constructor(options: RegistriesOptions) {
    this.#options = options
    for (const definition of options.scheme.definitions()) this.#add(definition)
    this.#stopFollowing = options.scheme.onChange((change) => this.#change(change))
  }

  /** What stays is kept in memory; watches of what changed end, so that their clients see what is new. */
  #change({ added, removed }: SchemeChange): void {
    const left = removed.flatMap((definition) => this.#remove(definition))
    for (const definition of added) this.#add(definition)
    for (const [prefix, kept] of left) {
      if (kept.served.size > 0 || this.#byPrefix.get(prefix) !== kept) continue
      this.#byPrefix.delete(prefix)
      kept.cache.stop()
    }
  }

  #add(definition: ResourceDefinition): void {
    const kept = this.#keptFor(storedDefinition(definition))
    const isOther = definition.untyped !== undefined && kept.registry.definition !== definition
    const served = new ServedResource(definition, isOther ? this.#registryOf(definition, kept.cache) : kept.registry)
    if (definition.untyped?.isStorage) kept.registry = served.registry
    kept.served.add(served)
    this.#served.set(placeOf(definition), served)
    this.#byResource.set(`${definition.group}/${definition.plural}`, kept.registry)
  }

  #remove(definition: ResourceDefinition): [string, Kept][] {
    const served = this.#served.get(placeOf(definition))
    const prefix = storagePrefix(storedDefinition(definition))
    const kept = this.#byPrefix.get(prefix)
    if (served === undefined || kept === undefined) return []
    this.#served.delete(placeOf(definition))
    kept.served.delete(served)
    if (kept.served.size === 0) this.#byResource.delete(`${definition.group}/${definition.plural}`)
    served.end()
    return [[prefix, kept]]
  }

  #keptFor(definition: ResourceDefinition): Kept {
    const prefix = storagePrefix(definition)
    const known = this.#byPrefix.get(prefix)
    if (known === undefined) {
      const cache = this.#cacheOf(definition)
      const owner = { group: definition.group, resource: definition.plural }
      const kept = { cache, owner, registry: this.#registryOf(definition, cache), served: new Set<ServedResource>() }
      this.#byPrefix.set(prefix, kept)
      if (this.#isStarted) cache.open()
      return kept
    }
    // Other rules for the same objects: requests that run keep those they began with.
    if (known.registry.definition !== definition && known.served.size === 0) known.registry = this.#registryOf(definition, known.cache)
    return known
  }

  #cacheOf(definition: ResourceDefinition): WatchCache {
    const { store, clock, perResource } = this.#options
    const { transformer } = perResource(definition)
    const isNamespaced = definition.scope === 'Namespaced'
    return new WatchCache({ store, clock, prefix: storagePrefix(definition), isNamespaced, transformer, oldChanges: this.#oldChanges })
  }

  #registryOf(definition: ResourceDefinition, stored: WatchCache): ResourceRegistry {
    const { view, ...own } = this.#options.perResource(definition)
    const labelsOfNamespace = (name: string) => {
      const namespaces = this.#find('', 'namespaces')
      return namespaces?.cache.get(namespaces.key('', name))?.labels
    }
    const cache = view === undefined ? stored : new VersionCache(stored, view)
    return new ResourceRegistry({ ...this.#options, ...own, definition, cache, labelsOfNamespace })
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#served.get(placeOf({ group, version, plural }))
  }

  /** Whose objects lie under this prefix. */
  ownerOf(prefix: string): { readonly group: string; readonly resource: string } | undefined {
    return this.#byPrefix.get(prefix)?.owner
  }

  /** The registry of a kind. What lies under its prefix was decoded as that kind, whose type it therefore has. */
  of<T extends KubernetesObject>({ group, plural }: Kind<T>): TypedRegistry<T> {
    return this.named(group, plural) as unknown as TypedRegistry<T>
  }

  /** The registry of a resource whose kind is known only at run time. */
  named(group: string, plural: string): ResourceRegistry {
    const registry = this.#byResource.get(`${group}/${plural}`)
    if (registry === undefined) throw new Error(`no resource ${plural} in group ${group || 'core'} is served`)
    return registry
  }

  #find(group: string, plural: string): ResourceRegistry | undefined {
    return this.#byResource.get(`${group}/${plural}`)
  }

  /** The version under that name in which a stored kind is served. */
  versionOf(stored: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined {
    const definition = this.#options.scheme.of({ apiVersion, kind: stored.kind })
    return definition && storedDefinition(definition) === stored ? definition : undefined
  }

  *all(): Iterable<ResourceRegistry> {
    for (const { registry } of this.#byPrefix.values()) yield registry
  }

  /** Fills every cache from the store. */
  async start(): Promise<void> {
    this.#isStarted = true
    await Promise.all(
      [...this.#byPrefix.values()].map(({ cache, registry: { definition } }) =>
        cache.start().catch((error: unknown) => {
          if (!(error instanceof UnreadableValue)) throw error
          throw new Error(`${definition.plural} cannot be read from the store: ${error.message}`, { cause: error })
        }),
      ),
    )
  }

  /** What happened before the server was ready is nobody's history: no client can have seen it. */
  forgetHistory(): void {
    for (const { cache } of this.#byPrefix.values()) cache.forgetHistory()
  }

  stop(): void {
    this.#stopFollowing()
    for (const { cache } of this.#byPrefix.values()) cache.stop()
  }

  /** The cluster as admission and bootstrap see it. */
  view(): ClusterView {
    return new ClusterView({
      get: (group, resource, namespace, name) => {
        const registry = this.#find(group, resource)
        return registry?.cache.get(registry.key(namespace, name))?.object
      },
      labels: (group, resource, namespace, name) => {
        const registry = this.#find(group, resource)
        return registry?.cache.get(registry.key(namespace, name))?.labels
      },
      list: (group, resource, namespace = '') =>
        this.#find(group, resource)
          ?.cache.list(namespace)
          .map(({ object }) => object) ?? [],
      getFresh: async (group, resource, namespace, name) => (await this.#find(group, resource)?.find(namespace, name))?.object,
      versionsOf: (stored) => [...(this.#byPrefix.get(storagePrefix(stored))?.served ?? [])],
      resourcesOfKind: (group, version, kind) => {
        const definition = this.#options.scheme.byKind(group, version, kind)
        return definition ? [{ resource: definition.plural, isNamespaced: definition.scope === 'Namespaced' }] : []
      },
      replace: (group, resource, object) => this.#replace(this.named(group, resource), object, ''),
      replaceStatus: (group, resource, object) => this.#replace(this.named(group, resource), object, 'status'),
      create: async (group, resource, object) => {
        const registry = this.named(group, resource)
        registry.definition.defaults?.(object)
        return (await registry.create(object, serverContext(registry.definition, object.metadata?.namespace ?? ''))).object
      },
      onChange: (group, resource, callback, isGradual = false) => {
        const cache = this.#find(group, resource)?.cache
        if (cache === undefined) return { [Symbol.dispose]() {} }
        if (!isGradual) for (const cached of cache.list('')) callback(cached.peek(), false)
        const following = cache.watch(cache.revision, {
          onChange: (change) => callback(change.object.object, change.type === 'DELETED'),
          onEnd() {},
        })
        return isGradual ? new GradualReplay(cache, this.#options.clock, callback, following) : following
      },
    })
  }

  async #replace(registry: ResourceRegistry, object: KubernetesObject, subresource: string): Promise<KubernetesObject> {
    const { namespace = '', name = '' } = object.metadata ?? {}
    const context = serverContext(registry.definition, namespace, subresource)
    const { object: written } = await registry.update(name, context, { transform: () => deepCopy(object), rules: {}, tracksFields: true })
    return written.object
  }
}

function placeOf({ group, version, plural }: Pick<ResourceDefinition, 'group' | 'version' | 'plural'>): string {
  return `${group}/${version}/${plural}`
}

/** Writes of the server itself: nobody asks whether it may. */
export function serverContext(definition: ResourceDefinition, namespace: string, subresource = ''): WriteContext {
  const { group, version, kind, plural, scope } = definition
  return {
    user: { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'], extra: {} },
    namespace: scope === 'Namespaced' ? namespace : '',
    resource: { group, version, resource: plural },
    kind: { group, version, kind },
    subresource,
    served: { definition, fromStored: (object) => object, toStored: (object) => object },
    isDryRun: false,
    // Upstream's own name: what it bootstraps, it owns.
    fieldManager: 'kube-apiserver',
    options: {},
    warn() {},
    annotateAudit() {},
    skipsAdmission: true,
  }
}

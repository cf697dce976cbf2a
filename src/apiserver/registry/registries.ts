/** The registries of all stored resources, and the served versions over them. */
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { ClusterView } from '#apiserver/admission/admission.ts'
import { UnreadableValue } from '#apiserver/encryption/transformer.ts'
import { ServedResource } from '#apiserver/http/served-resource.ts'
import type { RegistryOptions } from '#apiserver/registry/registry-options.ts'
import { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import { storagePrefix } from '#apiserver/registry/storage-key.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import { GradualReplay } from '#apiserver/watch-cache/gradual-replay.ts'
import { WatchCache } from '#apiserver/watch-cache/watch-cache.ts'

export type RegistriesOptions = Omit<
  RegistryOptions,
  'definition' | 'cache' | 'hooks' | 'encode' | 'lease' | 'transformer' | 'labelsOfNamespace'
> & {
  /** What a resource needs beyond the common: hooks, a lease, encryption, another encoding. */
  perResource(
    definition: ResourceDefinition,
  ): Pick<RegistryOptions, 'encode'> & Partial<Pick<RegistryOptions, 'hooks' | 'lease' | 'transformer'>>
}

export class Registries {
  readonly #options: RegistriesOptions
  /** By storage prefix: versions of one resource, and groups that share one, share the registry. */
  readonly #byPrefix = new Map<string, ResourceRegistry>()
  readonly #served = new Map<string, ServedResource>()
  /** By `group/plural`, for those who do not care for the version. */
  readonly #byResource = new Map<string, ResourceRegistry>()

  constructor(options: RegistriesOptions) {
    this.#options = options
  }

  /** Adds a version; its stored version's registry is made when it is the first of its resource. */
  add(definition: ResourceDefinition): ServedResource {
    const stored = definition.storedAs?.definition ?? definition
    const registry = this.#registryFor(stored)
    const served = new ServedResource(definition, registry)
    this.#served.set(`${definition.group}/${definition.version}/${definition.plural}`, served)
    const name = `${definition.group}/${definition.plural}`
    if (!this.#byResource.has(name)) this.#byResource.set(name, registry)
    return served
  }

  #registryFor(definition: ResourceDefinition): ResourceRegistry {
    const prefix = storagePrefix(definition)
    const known = this.#byPrefix.get(prefix)
    if (known) return known
    const own = this.#options.perResource(definition)
    const { store, clock } = this.#options
    const isNamespaced = definition.scope === 'Namespaced'
    const cache = new WatchCache({ store, clock, prefix, isNamespaced, transformer: own.transformer })
    const labelsOfNamespace = (name: string) => {
      const namespaces = this.#find('', 'namespaces')
      return namespaces?.cache.get(namespaces.key('', name))?.labels
    }
    const registry = new ResourceRegistry({ ...this.#options, ...own, definition, cache, labelsOfNamespace })
    this.#byPrefix.set(prefix, registry)
    return registry
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#served.get(`${group}/${version}/${plural}`)
  }

  of(group: string, plural: string): ResourceRegistry {
    const registry = this.#byResource.get(`${group}/${plural}`)
    if (registry === undefined) throw new Error(`no resource ${plural} in group ${group || 'core'} is served`)
    return registry
  }

  #find(group: string, plural: string): ResourceRegistry | undefined {
    return this.#byResource.get(`${group}/${plural}`)
  }

  /** The version under that name in which a stored kind is served. */
  versionOf(stored: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined {
    for (const served of this.#served.values()) {
      if (served.apiVersion === apiVersion && served.registry.definition === stored) return served.definition
    }
    return undefined
  }

  *definitions(): Iterable<ResourceDefinition> {
    for (const { definition } of this.#served.values()) yield definition
  }

  *all(): Iterable<ResourceRegistry> {
    yield* this.#byPrefix.values()
  }

  /** Fills every cache from the store. */
  async start(): Promise<void> {
    await Promise.all(
      [...this.#byPrefix.values()].map(({ cache, definition }) =>
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
    for (const { cache } of this.#byPrefix.values()) cache.stop()
  }

  /** The cluster as admission and bootstrap see it. */
  view(): ClusterView {
    return {
      get: (group, resource, namespace, name) => {
        const registry = this.#find(group, resource)
        return registry?.cache.get(registry.key(namespace, name))?.object
      },
      list: (group, resource, namespace = '') =>
        this.#find(group, resource)
          ?.cache.list(namespace)
          .map(({ object }) => object) ?? [],
      getFresh: async (group, resource, namespace, name) => (await this.#find(group, resource)?.find(namespace, name))?.object,
      resourcesOfKind: (group, version, kind) =>
        [...this.definitions()]
          .filter((each) => each.group === group && each.version === version && each.kind === kind)
          .map(({ plural, scope }) => ({ resource: plural, isNamespaced: scope === 'Namespaced' })),
      replaceStatus: async (group, resource, object) => {
        const registry = this.of(group, resource)
        const context = serverContext(registry.definition, object.metadata?.namespace ?? '', 'status')
        return (await registry.update(object.metadata?.name ?? '', context, { transform: () => object, rules: {} })).object.object
      },
      create: async (group, resource, object) => {
        const registry = this.of(group, resource)
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
    }
  }
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

export type { KubernetesObject }

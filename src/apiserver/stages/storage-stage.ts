/** What lies between requests and the store: registries with their caches, and the view of the cluster that they give. */
import { canonicalize } from '#api/codec/json.ts'
import { jsonText } from '#api/codec/json-text.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { type Scheme, storedDefinition } from '#api/scheme.ts'
import { AdmissionChain, type AdmissionPlugin } from '#apiserver/admission/admission.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { untypedStorage } from '#apiserver/custom-resources/untyped-storage.ts'
import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { AdmissionMetrics } from '#apiserver/metrics/admission-metrics.ts'
import { measuredStore, measureResources } from '#apiserver/metrics/storage-metrics.ts'
import type { FieldOwnership } from '#apiserver/registry/field-ownership.ts'
import { managedFieldsOwnership } from '#apiserver/registry/managed-fields-ownership.ts'
import { Registries } from '#apiserver/registry/registries.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import type { Clock } from '#base/clock.ts'
import type { Metrics } from '#base/metrics.ts'
import { ownBytes } from '#base/own-bytes.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

export type StorageOptions = {
  store: Store
  clock: Clock
  random: Random
  scheme: Scheme
  isEnabled(featureGate: string): boolean
  transformer?(group: string, plural: string): ValueTransformer | undefined
  ttlSeconds?: Readonly<Record<string, number>>
}

export type StorageStage = {
  /** As given, and measured. */
  readonly store: Store
  readonly registries: Registries
  readonly cluster: ClusterView
  readonly ownership: FieldOwnership
  readonly admission: Pick<AdmissionChain, 'mutate' | 'validate'>
  /** Plugins and hooks look at the cluster and write to it, hence come after it. Until then nobody is asked. */
  install(rules: { hooks: ReadonlyMap<string, RegistryHooks>; plugins: readonly AdmissionPlugin[] }): void
}

const leaseSharedMs = 60_000

export function storageStage(options: StorageOptions, metrics: Metrics): StorageStage {
  const { clock, random, isEnabled, scheme } = options
  const store = measuredStore(options.store, metrics, clock, (prefix) => registries.ownerOf(prefix))
  const admissionMetrics = new AdmissionMetrics(metrics, clock)
  const ownership = managedFieldsOwnership({ clock, findVersion: (stored, apiVersion) => versionOf(scheme, stored, apiVersion) })
  let installed = { hooks: new Map() as ReadonlyMap<string, RegistryHooks>, chain: new AdmissionChain([]) }
  const admission = admissionMetrics.chain(() => installed.chain)
  const registries: Registries = new Registries({
    ...{ scheme, store, clock, random, isEnabled, ownership, admission },
    perResource: (definition) => ({
      transformer: options.transformer?.(definition.group, definition.plural),
      encode(object) {
        const canonical = canonicalize(object, definition.schema)
        return { canonical, value: ownBytes(jsonText(canonical)) }
      },
      ...(definition.untyped && untypedStorage({ ...definition, untyped: definition.untyped })),
      hooks: laterHooks(() => installed.hooks.get(`${definition.group}/${definition.plural}`)),
      ...sharedLease(options.store, clock, options.ttlSeconds?.[`${definition.group}/${definition.plural}`]),
    }),
  })
  measureResources(metrics, store, () => storedResources(registries))
  return {
    ...{ store, registries, ownership, admission },
    cluster: registries.view(),
    install({ hooks, plugins }) {
      installed = { hooks, chain: new AdmissionChain(admissionMetrics.measured(plugins)) }
    },
  }
}

/** The version of a stored kind that an entry of managed fields speaks of. */
function versionOf(scheme: Scheme, stored: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined {
  const definition = scheme.of({ apiVersion, kind: stored.kind })
  return definition && storedDefinition(definition) === stored ? definition : undefined
}

function* storedResources(registries: Registries) {
  for (const { definition, cache } of registries.all()) {
    yield { group: definition.group, resource: definition.plural, count: cache.size, revision: cache.revision, watchers: cache.watchers }
  }
}

function laterHooks(hooks: () => RegistryHooks | undefined): RegistryHooks {
  return {
    beginCreate: async (object, context) => hooks()?.beginCreate?.(object, context),
    beginUpdate: async (next, prev, context) => hooks()?.beginUpdate?.(next, prev, context),
    afterRules: (next, prev, context) => hooks()?.afterRules?.(next, prev, context),
    insteadOfDelete: (object, options, nowMs) => hooks()?.insteadOfDelete?.(object, options, nowMs),
    afterDelete: async (object, context) => hooks()?.afterDelete?.(object, context),
    mayDeleteOnUpdate: (next) => hooks()?.mayDeleteOnUpdate?.(next) ?? true,
  }
}

/** Objects that expire hang on a lease; those made within the same minute share one. */
function sharedLease(store: Store, clock: Clock, ttlSeconds: number | undefined): { lease?(): Promise<bigint> } {
  if (ttlSeconds === undefined) return {}
  let current: { readonly id: Promise<bigint>; readonly grantedMs: number } | undefined
  return {
    lease() {
      if (current === undefined || clock.now() - current.grantedMs > leaseSharedMs) {
        const id = store.grantLease(ttlSeconds + leaseSharedMs / 1000).then((granted) => granted.id)
        current = { id, grantedMs: clock.now() }
      }
      return current.id
    },
  }
}

/** Puts what a cluster needs into the store, and keeps it there. */

import { deepCopy } from '#api/meta/deep-copy.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defaultRbacObjects } from '#apiserver/authz/rbac/default-roles.ts'
import type { ClusterRole, RoleBinding } from '#apiserver/authz/rbac/rbac-objects.ts'
import { type Reconciliation, reconciledBinding, reconciledRole } from '#apiserver/authz/rbac/reconcile.ts'
import { aggregateClusterRoles } from '#apiserver/bootstrap/aggregate-cluster-roles.ts'
import {
  type BootstrapEntry,
  type BootstrapFacts,
  bootstrapEntries,
  kubernetesEndpoints,
  kubernetesService,
  namespaceEntries,
} from '#apiserver/bootstrap/bootstrap-objects.ts'
import { defaultFlowControl } from '#apiserver/bootstrap/flow-control-defaults.ts'
import { keepIdentityLease } from '#apiserver/bootstrap/identity-lease.ts'
import { localApiServices } from '#apiserver/bootstrap/local-api-services.ts'
import { type ServerAddress, shareAddress } from '#apiserver/bootstrap/shared-addresses.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import { sameJson } from '#apiserver/registry/same-json.ts'
import type { ApiServer } from '#apiserver/server.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

export type BootstrapOptions = BootstrapFacts & {
  store: Store
  clock: Clock
  random: Random
  logger: Logger
  aggregatesClusterRoles: boolean
  /** Other API servers use the same store. */
  sharesStore: boolean
  /** Of this machine; absent: this server does not say that it is there. */
  hostName?: string | undefined
}

const rbacPlural = {
  Role: 'roles',
  ClusterRole: 'clusterroles',
  RoleBinding: 'rolebindings',
  ClusterRoleBinding: 'clusterrolebindings',
} as const

export async function bootstrap(server: ApiServer, options: BootstrapOptions): Promise<AsyncDisposable> {
  await inParallel(namespaceEntries(), (entry) => createIfMissing(server, entry))
  await Promise.all([
    inParallel(defaultRbacObjects(), ({ kind, object }) => reconcileRbac(server, kind, object as unknown as ClusterRole)),
    inParallel(
      [...bootstrapEntries(options), ...defaultFlowControl(), ...localApiServices(server.registries.definitions(), options.clock.now())],
      (entry) => createIfMissing(server, entry),
    ),
  ])
  await createIfMissing(server, { group: '', resource: 'services', object: kubernetesService(options) })
  const background = new AsyncDisposableStack()
  // A machine without any address but loopback has nothing to tell.
  if (options.advertiseAddress !== '') await publishAddress(server, options, background)
  if (options.hostName !== undefined) background.use(await keepIdentityLease(server, { ...options, hostName: options.hostName }))
  if (options.aggregatesClusterRoles) background.use(await aggregateClusterRoles(server, options.logger))
  return background
}

async function publishAddress(server: ApiServer, options: BootstrapOptions, background: AsyncDisposableStack): Promise<void> {
  const { advertiseAddress: address, securePort: port, store, clock, logger } = options
  const publish = (addresses: readonly ServerAddress[]) =>
    inParallel(kubernetesEndpoints(addresses), (entry) => replaceIfDifferent(server, entry))
  if (options.sharesStore) background.use(await shareAddress({ store, clock, logger, address, port, publish }))
  else await publish([{ address, port }])
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  await Promise.all(items.map(work))
}

async function createIfMissing(server: ApiServer, { group, resource, object, status }: BootstrapEntry): Promise<void> {
  const registry = server.registries.of(group, resource)
  const { namespace = '', name = '' } = object.metadata ?? {}
  if (registry.cache.get(registry.key(namespace, name))) return
  const copy = deepCopy(object)
  registry.definition.defaults?.(copy)
  try {
    const created = await registry.create(copy, serverContext(registry.definition, namespace))
    if (status !== undefined)
      await server.cluster.replaceStatus(group, resource, { ...deepCopy(created.object), status } as KubernetesObject)
  } catch (error) {
    // Another API server on the same store may have been faster.
    if (!(error instanceof StatusError) || error.status.reason !== 'AlreadyExists') throw error
  }
}

/** The server's address may be another one than at the last start. */
async function replaceIfDifferent(server: ApiServer, entry: BootstrapEntry): Promise<void> {
  const registry = server.registries.of(entry.group, entry.resource)
  const { namespace = '', name = '' } = entry.object.metadata ?? {}
  const existing = registry.cache.get(registry.key(namespace, name))
  if (existing === undefined) return createIfMissing(server, entry)
  const {
    metadata: _mine,
    apiVersion: _version,
    kind: _kind,
    ...wanted
  } = deepCopy(entry.object) as KubernetesObject & Record<string, unknown>
  const { metadata: _theirs, apiVersion: _v, kind: _k, ...current } = existing.object as KubernetesObject & Record<string, unknown>
  if (sameJson(wanted, current)) return
  await registry.update(name, serverContext(registry.definition, namespace), {
    retriesConflicts: true,
    transform(prev) {
      const next = { ...deepCopy(prev ?? entry.object), ...wanted } as KubernetesObject
      registry.definition.defaults?.(next)
      return next
    },
  })
}

async function reconcileRbac(server: ApiServer, kind: keyof typeof rbacPlural, expected: ClusterRole): Promise<void> {
  const registry = server.registries.of('rbac.authorization.k8s.io', rbacPlural[kind])
  const { name, namespace = '' } = expected.metadata as { name: string; namespace?: string }
  const existing = registry.cache.get(registry.key(namespace, name))?.object as unknown as ClusterRole | undefined
  const outcome = (
    kind === 'Role' || kind === 'ClusterRole'
      ? reconciledRole(existing, expected)
      : reconciledBinding(existing as unknown as RoleBinding, expected as unknown as RoleBinding)
  ) as Reconciliation<KubernetesObject>
  if (outcome.action === 'none') return
  const context = serverContext(registry.definition, namespace)
  const object = deepCopy(outcome.object)
  registry.definition.defaults?.(object)
  if (outcome.action === 'update') {
    await registry.update(name, context, { transform: () => object })
    return
  }
  if (outcome.action === 'recreate') await registry.delete(name, {}, context)
  await createIfMissing(server, { group: 'rbac.authorization.k8s.io', resource: rbacPlural[kind], object })
}

/** Brings single objects of the server's own to what they have to be, whatever other API servers do to them meanwhile. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { ClusterRole, RoleBinding } from '#apiserver/authz/rbac/rbac-objects.ts'
import { type Reconciliation, reconciledBinding, reconciledRole } from '#apiserver/authz/rbac/reconcile.ts'
import type { BootstrapEntry } from '#apiserver/bootstrap/bootstrap-objects.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import type { ApiServer } from '#apiserver/server.ts'
import type { Clock } from '#base/clock.ts'

export type Company = {
  clock: Clock
  /** Other API servers use the same store. */
  sharesStore: boolean
}

const attempts = 20
const pauseMs = 20

/**
 * Runs `ensure` until it gets through. Servers that start at the same moment write the same objects: what one of them is
 * refused (the object exists, has changed, has gone, or its address is taken), another has just done.
 */
export async function besideOthers({ clock, sharesStore }: Company, ensure: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ensure()
    } catch (error) {
      if (!sharesStore || !(error instanceof StatusError) || attempt === attempts) throw error
      await clock.sleep(pauseMs * attempt)
    }
  }
}

const rbacPlural = {
  Role: 'roles',
  ClusterRole: 'clusterroles',
  RoleBinding: 'rolebindings',
  ClusterRoleBinding: 'clusterrolebindings',
} as const

export async function createIfMissing(server: ApiServer, { group, resource, object, status }: BootstrapEntry): Promise<void> {
  const registry = server.registries.named(group, resource)
  const { namespace = '', name = '' } = object.metadata ?? {}
  const copy = deepCopy(object)
  registry.definition.defaults?.(copy)
  const there = (await registry.find(namespace, name)) ?? (await registry.create(copy, serverContext(registry.definition, namespace)))
  // Who made it may have ended before it got to the status.
  if (status === undefined || hasStatus(there.object)) return
  await server.cluster.dynamic.replaceStatus(group, resource, { ...deepCopy(there.object), status } as KubernetesObject)
}

function hasStatus(object: KubernetesObject): boolean {
  const { status = {} } = object as { status?: object }
  return Object.keys(status).length > 0
}

/** The server's address may be another one than at the last start. */
export async function replaceIfDifferent(server: ApiServer, entry: BootstrapEntry): Promise<void> {
  const registry = server.registries.named(entry.group, entry.resource)
  const { namespace = '', name = '' } = entry.object.metadata ?? {}
  const existing = await registry.find(namespace, name)
  if (existing === undefined) return createIfMissing(server, entry)
  const {
    metadata: _mine,
    apiVersion: _version,
    kind: _kind,
    ...wanted
  } = deepCopy(entry.object) as KubernetesObject & Record<string, unknown>
  const { metadata: _theirs, apiVersion: _v, kind: _k, ...current } = existing.object as KubernetesObject & Record<string, unknown>
  if (equalJson(wanted, current)) return
  await registry.update(name, serverContext(registry.definition, namespace), {
    retriesConflicts: true,
    tracksFields: true,
    transform(prev) {
      const next = { ...deepCopy(prev ?? entry.object), ...wanted } as KubernetesObject
      registry.definition.defaults?.(next)
      return next
    },
  })
}

export async function reconcileRbac(server: ApiServer, kind: keyof typeof rbacPlural, expected: ClusterRole): Promise<void> {
  const registry = server.registries.named('rbac.authorization.k8s.io', rbacPlural[kind])
  const { name, namespace = '' } = expected.metadata as { name: string; namespace?: string }
  const existing = (await registry.find(namespace, name))?.object as unknown as ClusterRole | undefined
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
    await registry.update(name, context, { transform: () => object, tracksFields: true })
    return
  }
  if (outcome.action === 'recreate') await registry.delete(name, {}, context)
  await createIfMissing(server, { group: 'rbac.authorization.k8s.io', resource: rbacPlural[kind], object })
}

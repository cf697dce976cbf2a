/** Managers and objects for tests of ownership. */

import { allBut } from '#api/meta/apply/field-filter.ts'
import { FieldManager, type FieldManagerOptions } from '#api/meta/apply/field-manager.ts'
import { pathsOf } from '#api/meta/apply/field-set.ts'
import { printedPath } from '#api/meta/apply/path-element.ts'
import { emptyObject, mergeTypeOf } from '#api/meta/apply/schema-merge-type.ts'
import { deepFreeze } from '#api/meta/deep-copy.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'

export const noon = '2026-01-01T12:00:00Z'
export const later = '2026-01-01T13:00:00Z'

export function managerOf(apiVersion: string, kind: string, schemaName: string, more: Partial<FieldManagerOptions> = {}): FieldManager {
  const schema = schemaOf(schemaName)
  return new FieldManager({ apiVersion, kind, type: mergeTypeOf(schema), empty: emptyObject(schema), ...more })
}

export const deployments = managerOf('apps/v1', 'Deployment', 'io.k8s.api.apps.v1.Deployment', { filterAt: () => allBut(['status']) })
export const statuses = managerOf('apps/v1', 'Deployment', 'io.k8s.api.apps.v1.Deployment', {
  subresource: 'status',
  filterAt: () => allBut(['spec']),
})
export const configMaps = managerOf('v1', 'ConfigMap', 'io.k8s.api.core.v1.ConfigMap')
export const pods = managerOf('v1', 'Pod', 'io.k8s.api.core.v1.Pod', { filterAt: () => allBut(['status']) })

export type Anything = { [key: string]: unknown }

export const deployment = (spec: Anything, metadata: Anything = {}): KubernetesObject =>
  ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', ...metadata }, spec }) as KubernetesObject
export const configMap = (data: Anything, metadata: Anything = {}): KubernetesObject =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', ...metadata }, data }) as KubernetesObject

/** As the server keeps it: frozen, with an identity. */
export function stored<T extends KubernetesObject>(object: T): T {
  return deepFreeze({ ...object, metadata: { uid: 'u1', ...object.metadata } })
}

/** `manager operation: paths`, a line an owner. */
export function owners(object: KubernetesObject): string[] {
  return (object.metadata?.managedFields ?? []).map((entry) => {
    const where = entry.subresource === undefined ? '' : `/${entry.subresource}`
    const paths = pathsOf(entry.fieldsV1 ?? {}).map(printedPath)
    return `${entry.manager}${where} ${entry.operation}: ${paths.join(' ')}`
  })
}

export const entry = (manager: string, operation: string, fieldsV1: Anything, more: Anything = {}): V1ManagedFieldsEntry =>
  ({ manager, operation, apiVersion: 'v1', time: noon, fieldsType: 'FieldsV1', fieldsV1, ...more }) as V1ManagedFieldsEntry

/** The columns nearly every table has. */
import { ageOf } from '#api/meta/human-duration.ts'
import type { Column, KubernetesObject } from '#api/resource.ts'

export const nameColumn: Column<KubernetesObject> = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: { field: 'ObjectMeta.name' },
  cell: ({ metadata }) => metadata?.name ?? '',
}

export const ageColumn: Column<KubernetesObject> = {
  name: 'Age',
  type: 'string',
  description: { field: 'ObjectMeta.creationTimestamp' },
  cell: ({ metadata }, { nowMs }) => ageOf(metadata?.creationTimestamp, nowMs),
}

/** For kinds that have no table of their own: they show their name and this. */
const createdAtColumn: Column<KubernetesObject> = {
  name: 'Created At',
  type: 'date',
  description: { field: 'ObjectMeta.creationTimestamp' },
  cell: ({ metadata }) => metadata?.creationTimestamp ?? null,
}

export const defaultColumns: readonly Column<KubernetesObject>[] = [nameColumn, createdAtColumn]

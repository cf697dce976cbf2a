/** The kinds of snapshot.storage.k8s.io: what upstream installs as definitions beside a snapshot controller. */
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { type CustomObjectOf, defineCustomResource } from '#api/declaration/define-custom-resource.ts'
import { boolean, choice, integer, map, object, optional, schema, string, time } from '#api/declaration/schema.ts'
import { defineKind } from '#api/kind.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

const group = 'snapshot.storage.k8s.io'
const annotations = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-csi/external-snapshotter/pull/814' }
const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }
const quantity = schema<string>({
  'x-kubernetes-int-or-string': true,
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  pattern: '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
})
const failure = optional(object({ message: optional(string()), time: optional(time()) }))
const oneOf = (left: string, right: string) => ({
  rules: [
    {
      rule: `(has(self.${left}) && !has(self.${right})) || (!has(self.${left}) && has(self.${right}))`,
      message: `exactly one of ${left} and ${right} must be set`,
    },
  ],
})

export const VolumeSnapshot = defineCustomResource({
  ...{ group, version: 'v1', kind: 'VolumeSnapshot', shortNames: ['vs'], annotations },
  spec: object({
    source: object(
      { persistentVolumeClaimName: optional(string()), volumeSnapshotContentName: optional(string()) },
      oneOf('volumeSnapshotContentName', 'persistentVolumeClaimName'),
    ),
    volumeSnapshotClassName: optional(string({ minLength: 1 })),
  }),
  status: object({
    boundVolumeSnapshotContentName: optional(string()),
    creationTime: optional(time()),
    error: failure,
    readyToUse: optional(boolean()),
    restoreSize: optional(quantity),
    volumeGroupSnapshotName: optional(string()),
  }),
  columns: [
    { name: 'ReadyToUse', type: 'boolean', jsonPath: '.status.readyToUse' },
    { name: 'SourcePVC', type: 'string', jsonPath: '.spec.source.persistentVolumeClaimName' },
    { name: 'SourceSnapshotContent', type: 'string', jsonPath: '.spec.source.volumeSnapshotContentName' },
    { name: 'RestoreSize', type: 'string', jsonPath: '.status.restoreSize' },
    { name: 'SnapshotClass', type: 'string', jsonPath: '.spec.volumeSnapshotClassName' },
    { name: 'SnapshotContent', type: 'string', jsonPath: '.status.boundVolumeSnapshotContentName' },
    { name: 'CreationTime', type: 'date', jsonPath: '.status.creationTime' },
    age,
  ],
})
export type VolumeSnapshot = CustomObjectOf<typeof VolumeSnapshot>

const reference = object({
  ...{ apiVersion: optional(string()), fieldPath: optional(string()), kind: optional(string()), name: optional(string()) },
  ...{ namespace: optional(string()), resourceVersion: optional(string()), uid: optional(string()) },
})

export const VolumeSnapshotContent = defineCustomResource({
  ...{ group, version: 'v1', kind: 'VolumeSnapshotContent', scope: 'Cluster', shortNames: ['vsc', 'vscs'], annotations },
  spec: object({
    deletionPolicy: choice(['Delete', 'Retain']),
    driver: string(),
    source: object({ snapshotHandle: optional(string()), volumeHandle: optional(string()) }, oneOf('volumeHandle', 'snapshotHandle')),
    sourceVolumeMode: optional(string()),
    volumeSnapshotClassName: optional(string()),
    volumeSnapshotRef: reference,
  }),
  status: object({
    creationTime: optional(integer({ format: 'int64' })),
    error: failure,
    readyToUse: optional(boolean()),
    restoreSize: optional(integer({ format: 'int64', minimum: 0 })),
    snapshotHandle: optional(string()),
    volumeGroupSnapshotHandle: optional(string()),
  }),
  columns: [
    { name: 'ReadyToUse', type: 'boolean', jsonPath: '.status.readyToUse' },
    { name: 'RestoreSize', type: 'integer', jsonPath: '.status.restoreSize' },
    { name: 'DeletionPolicy', type: 'string', jsonPath: '.spec.deletionPolicy' },
    { name: 'Driver', type: 'string', jsonPath: '.spec.driver' },
    { name: 'VolumeSnapshotClass', type: 'string', jsonPath: '.spec.volumeSnapshotClassName' },
    { name: 'VolumeSnapshot', type: 'string', jsonPath: '.spec.volumeSnapshotRef.name' },
    { name: 'VolumeSnapshotNamespace', type: 'string', jsonPath: '.spec.volumeSnapshotRef.namespace' },
    age,
  ],
})
export type VolumeSnapshotContent = CustomObjectOf<typeof VolumeSnapshotContent>

/** Has no spec: its fields stand beside the metadata. */
export type VolumeSnapshotClass = {
  apiVersion?: string
  kind?: string
  metadata: V1ObjectMeta
  driver: string
  deletionPolicy: 'Delete' | 'Retain'
  parameters?: Record<string, string>
}

export const VolumeSnapshotClass = defineKind<VolumeSnapshotClass>({
  ...{ group, version: 'v1', kind: 'VolumeSnapshotClass', plural: 'volumesnapshotclasses', scope: 'Cluster' },
})

const classDefinition: V1CustomResourceDefinition = {
  metadata: { name: `volumesnapshotclasses.${group}`, annotations },
  spec: {
    group,
    scope: 'Cluster',
    names: {
      ...{
        kind: 'VolumeSnapshotClass',
        listKind: 'VolumeSnapshotClassList',
        plural: 'volumesnapshotclasses',
        singular: 'volumesnapshotclass',
      },
      shortNames: ['vsclass', 'vsclasses'],
    },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['deletionPolicy', 'driver'],
            properties: {
              deletionPolicy: choice(['Delete', 'Retain']).json,
              driver: string().json,
              parameters: map(string()).json,
            },
          },
        },
        additionalPrinterColumns: [
          { name: 'Driver', type: 'string', jsonPath: '.driver' },
          { name: 'DeletionPolicy', type: 'string', jsonPath: '.deletionPolicy' },
          age,
        ],
      },
    ],
  },
}

export const snapshotResources: readonly { definition: V1CustomResourceDefinition }[] = [
  VolumeSnapshot,
  VolumeSnapshotContent,
  { definition: classDefinition },
]

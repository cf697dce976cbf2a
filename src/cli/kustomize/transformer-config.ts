/** Which fields hold labels, images, names of other objects …: what kustomize knows of Kubernetes, and what users add. */
import { CliError } from '#cli/cli-error.ts'
import type { FieldSpec } from './field-spec.ts'
import { type Gvk, isSelectedBy } from './item.ts'

export type NameReference = Gvk & { fieldSpecs: FieldSpec[] }

export type TransformerConfig = {
  namePrefix: FieldSpec[]
  nameSuffix: FieldSpec[]
  namespace: FieldSpec[]
  commonLabels: FieldSpec[]
  labels: FieldSpec[]
  templateLabels: FieldSpec[]
  commonAnnotations: FieldSpec[]
  nameReference: NameReference[]
  varReference: FieldSpec[]
  images: FieldSpec[]
  replicas: FieldSpec[]
}

/** Where a kind that makes pods has their specification. */
const podSpecs: Readonly<Record<string, string>> = {
  Pod: 'spec',
  PodTemplate: 'template/spec',
  Deployment: 'spec/template/spec',
  ReplicaSet: 'spec/template/spec',
  DaemonSet: 'spec/template/spec',
  StatefulSet: 'spec/template/spec',
  Job: 'spec/template/spec',
  CronJob: 'spec/jobTemplate/spec/template/spec',
}
/** These name claims, accounts and priorities, too; a PodTemplate and a ReplicaSet are left alone there. */
const namers = ['Pod', 'StatefulSet', 'Deployment', 'ReplicationController', 'CronJob', 'Job', 'DaemonSet']
const podSpecOf = (kind: string): string => podSpecs[kind] ?? 'spec/template/spec'

const inPods = (...paths: string[]): FieldSpec[] =>
  Object.entries(podSpecs).flatMap(([kind, root]) =>
    paths.map((path) => ({ path: `${root}/${path}`, kind, ...(kind === 'Pod' ? { version: 'v1' } : {}) })),
  )
const inContainers = (...paths: string[]): FieldSpec[] =>
  inPods(...['containers', 'initContainers'].flatMap((list) => paths.map((path) => `${list}/${path}`)))
const inNamers = (path: string): FieldSpec[] => namers.map((kind) => ({ path: `${podSpecOf(kind)}/${path}`, kind }))
const on = (kind: string, ...paths: string[]): FieldSpec[] => paths.map((path) => ({ path, kind }))

const templates = (field: 'labels' | 'annotations'): FieldSpec[] => [
  { path: `metadata/${field}`, create: true },
  { path: `spec/template/metadata/${field}`, create: true, version: 'v1', kind: 'ReplicationController' },
  ...['Deployment', 'ReplicaSet', 'DaemonSet'].map((kind) => ({ path: `spec/template/metadata/${field}`, create: true, kind })),
  { path: `spec/template/metadata/${field}`, create: true, kind: 'StatefulSet', ...(field === 'labels' ? { group: 'apps' } : {}) },
  ...(field === 'labels'
    ? [{ path: 'spec/volumeClaimTemplates[]/metadata/labels', create: true, group: 'apps', kind: 'StatefulSet' }]
    : []),
  { path: `spec/template/metadata/${field}`, create: true, group: 'batch', kind: 'Job' },
  { path: `spec/jobTemplate/metadata/${field}`, create: true, group: 'batch', kind: 'CronJob' },
  { path: `spec/jobTemplate/spec/template/metadata/${field}`, create: true, group: 'batch', kind: 'CronJob' },
]

const affinities = ['podAffinity', 'podAntiAffinity'].flatMap((term) => [
  `spec/template/spec/affinity/${term}/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels`,
  `spec/template/spec/affinity/${term}/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels`,
])

const selectors = (): FieldSpec[] => [
  { path: 'spec/selector', create: true, version: 'v1', kind: 'Service' },
  { path: 'spec/selector', create: true, version: 'v1', kind: 'ReplicationController' },
  ...['Deployment', 'ReplicaSet', 'DaemonSet'].map((kind) => ({ path: 'spec/selector/matchLabels', create: true, kind })),
  { path: 'spec/selector/matchLabels', create: true, group: 'apps', kind: 'StatefulSet' },
  ...['Deployment', 'StatefulSet'].flatMap((kind) =>
    [...affinities, 'spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels'].map((path) => ({
      path,
      group: 'apps',
      kind,
    })),
  ),
  { path: 'spec/selector/matchLabels', group: 'batch', kind: 'Job' },
  { path: 'spec/jobTemplate/spec/selector/matchLabels', group: 'batch', kind: 'CronJob' },
  { path: 'spec/selector/matchLabels', group: 'policy', kind: 'PodDisruptionBudget' },
  ...['spec/podSelector', 'spec/ingress/from/podSelector', 'spec/egress/to/podSelector'].map((path) => ({
    path: `${path}/matchLabels`,
    group: 'networking.k8s.io',
    kind: 'NetworkPolicy',
  })),
]

const ingress = (name: string): string => `metadata/annotations/${name.replaceAll('/', '\\/')}`
const rbac = 'rbac.authorization.k8s.io'
const hooks = 'admissionregistration.k8s.io'

const nameReferences = (): NameReference[] => [
  ...['Deployment', 'ReplicationController', 'ReplicaSet', 'StatefulSet'].map((kind) => ({
    kind,
    fieldSpecs: on('HorizontalPodAutoscaler', 'spec/scaleTargetRef/name'),
  })),
  {
    kind: 'ConfigMap',
    version: 'v1',
    fieldSpecs: [
      ...inPods('volumes/configMap/name', 'volumes/projected/sources/configMap/name'),
      ...inContainers('env/valueFrom/configMapKeyRef/name', 'envFrom/configMapRef/name'),
      ...on('Node', 'spec/configSource/configMap'),
      ...on('Role', 'rules/resourceNames'),
      ...on('ClusterRole', 'rules/resourceNames'),
      ...on('Ingress', ingress('nginx.ingress.kubernetes.io/fastcgi-params-configmap')),
    ],
  },
  {
    kind: 'Secret',
    version: 'v1',
    fieldSpecs: [
      ...inPods('volumes/secret/secretName', 'imagePullSecrets/name', 'volumes/projected/sources/secret/name'),
      ...inContainers('env/valueFrom/secretKeyRef/name', 'envFrom/secretRef/name'),
      ...on(
        'Ingress',
        'spec/tls/secretName',
        ingress('ingress.kubernetes.io/auth-secret'),
        ingress('nginx.ingress.kubernetes.io/auth-secret'),
        ingress('nginx.ingress.kubernetes.io/auth-tls-secret'),
      ),
      ...on('ServiceAccount', 'imagePullSecrets/name'),
      ...on('StorageClass', 'parameters/secretName', 'parameters/adminSecretName', 'parameters/userSecretName', 'parameters/secretRef'),
      ...on('Role', 'rules/resourceNames'),
      ...on('ClusterRole', 'rules/resourceNames'),
      {
        path: 'spec/template/spec/containers/env/valueFrom/secretKeyRef/name',
        kind: 'Service',
        group: 'serving.knative.dev',
        version: 'v1',
      },
      ...on('PersistentVolume', 'spec/azureFile/secretName'),
    ],
  },
  {
    kind: 'Service',
    version: 'v1',
    fieldSpecs: [
      { path: 'spec/serviceName', kind: 'StatefulSet', group: 'apps' },
      ...on(
        'Ingress',
        'spec/rules/http/paths/backend/serviceName',
        'spec/backend/serviceName',
        'spec/rules/http/paths/backend/service/name',
        'spec/defaultBackend/service/name',
      ),
      { path: 'spec/service/name', kind: 'APIService', group: 'apiregistration.k8s.io' },
      { path: 'webhooks/clientConfig/service', kind: 'ValidatingWebhookConfiguration', group: hooks },
      { path: 'webhooks/clientConfig/service', kind: 'MutatingWebhookConfiguration', group: hooks },
    ],
  },
  { kind: 'Role', group: rbac, fieldSpecs: [{ path: 'roleRef/name', kind: 'RoleBinding', group: rbac }] },
  {
    kind: 'ClusterRole',
    group: rbac,
    fieldSpecs: ['RoleBinding', 'ClusterRoleBinding'].map((kind) => ({ path: 'roleRef/name', kind, group: rbac })),
  },
  {
    kind: 'ServiceAccount',
    version: 'v1',
    fieldSpecs: [
      ...['RoleBinding', 'ClusterRoleBinding'].map((kind) => ({ path: 'subjects', kind, group: rbac })),
      ...inNamers('serviceAccountName'),
    ],
  },
  { kind: 'PersistentVolumeClaim', version: 'v1', fieldSpecs: inNamers('volumes/persistentVolumeClaim/claimName') },
  {
    kind: 'PersistentVolume',
    version: 'v1',
    fieldSpecs: [...on('PersistentVolumeClaim', 'spec/volumeName'), ...on('ClusterRole', 'rules/resourceNames')],
  },
  {
    kind: 'StorageClass',
    version: 'v1',
    group: 'storage.k8s.io',
    fieldSpecs: [
      ...on('PersistentVolume', 'spec/storageClassName'),
      ...on('PersistentVolumeClaim', 'spec/storageClassName'),
      ...on('StatefulSet', 'spec/volumeClaimTemplates/spec/storageClassName'),
    ],
  },
  { kind: 'PriorityClass', version: 'v1', group: 'scheduling.k8s.io', fieldSpecs: inNamers('priorityClassName') },
  // Of a group that nothing has: upstream's table names the version in it, and so finds nothing.
  { kind: 'IngressClass', version: 'v1', group: 'networking.k8s.io/v1', fieldSpecs: on('Ingress', 'spec/ingressClassName') },
  {
    kind: 'ValidatingAdmissionPolicy',
    group: hooks,
    fieldSpecs: [{ path: 'spec/policyName', kind: 'ValidatingAdmissionPolicyBinding', group: hooks }],
  },
]

const variables = (): FieldSpec[] => [
  ...Object.keys(podSpecs)
    .filter((kind) => kind !== 'PodTemplate')
    .flatMap((kind) => {
      const root = podSpecOf(kind)
      const fields = ['args', 'command', 'env/value', 'volumeMounts/mountPath']
      return on(
        kind,
        ...['containers', 'initContainers'].flatMap((list) => fields.map((field) => `${root}/${list}/${field}`)),
        // As upstream has it: the CronJob's misses a step, and the StatefulSet's is the claims'.
        kind === 'CronJob'
          ? 'spec/jobTemplate/spec/template/volumes/nfs/server'
          : kind === 'StatefulSet'
            ? 'spec/volumeClaimTemplates/spec/nfs/server'
            : `${root}/volumes/nfs/server`,
      )
    }),
  ...on('Deployment', 'spec/template/metadata/annotations'),
  ...on('Ingress', 'spec/rules/host', 'spec/tls/hosts', 'spec/tls/secretName'),
  ...on('Service', 'spec/ports/port', 'spec/ports/targetPort'),
  ...on('PersistentVolume', 'spec/nfs/server'),
  { path: 'metadata/labels' },
  { path: 'metadata/annotations' },
]

export function defaultConfig(): TransformerConfig {
  return {
    namePrefix: [{ path: 'metadata/name' }],
    nameSuffix: [{ path: 'metadata/name' }],
    namespace: [
      { path: 'metadata/name', kind: 'Namespace', create: true },
      { path: 'spec/service/namespace', group: 'apiregistration.k8s.io', kind: 'APIService', create: true },
      {
        path: 'spec/conversion/webhook/clientConfig/service/namespace',
        group: 'apiextensions.k8s.io',
        kind: 'CustomResourceDefinition',
      },
    ],
    commonLabels: [...selectors(), ...templates('labels')],
    labels: [],
    templateLabels: templates('labels'),
    commonAnnotations: templates('annotations'),
    nameReference: nameReferences(),
    varReference: variables(),
    images: ['spec', 'spec/template/spec'].flatMap((root) =>
      ['containers[]/image', 'initContainers[]/image', 'volumes[]/image/reference'].map((path) => ({
        path: `${root}/${path}`,
        create: true,
      })),
    ),
    replicas: ['Deployment', 'StatefulSet', 'ReplicaSet', 'ReplicationController'].map((kind) => ({
      path: 'spec/replicas',
      create: true,
      kind,
    })),
  }
}

/** What is said twice is there once. */
export function mergedConfig(one: TransformerConfig, other: Partial<TransformerConfig>): TransformerConfig {
  const { nameReference = [], ...specs } = other
  const result = { ...one, nameReference: mergedReferences(one.nameReference, nameReference) }
  for (const [key, added] of Object.entries(specs) as [Exclude<keyof TransformerConfig, 'nameReference'>, FieldSpec[]][])
    result[key] = mergedSpecs(one[key] ?? [], added)
  return result
}

function mergedReferences(one: readonly NameReference[], other: readonly NameReference[]): NameReference[] {
  const result = [...one]
  for (const added of other) {
    const at = result.findIndex((each) => isSelectedBy(each, added) && isSelectedBy(added, each))
    const known = result[at]
    if (known === undefined) result.push(added)
    else result[at] = { ...known, fieldSpecs: mergedSpecs(known.fieldSpecs, added.fieldSpecs) }
  }
  return result
}

export function mergedSpecs(one: readonly FieldSpec[], other: readonly FieldSpec[]): FieldSpec[] {
  const result = [...one]
  for (const added of other) {
    const known = result.find((each) => each.path === added.path && isSelectedBy(each, added))
    if (known === undefined) result.push(added)
    else if ((known.create ?? false) !== (added.create ?? false)) throw new CliError('conflicting fieldspecs')
  }
  return result
}

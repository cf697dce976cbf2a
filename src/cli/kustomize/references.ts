/** Names that change, and the fields that speak of them. */
import type { ApiObject } from '#cli/call.ts'
import { placesAt } from './kustomization.ts'

/** An object of a build, and the names it has had. */
export type Item = {
  object: ApiObject
  formerNames: string[] /** Kept for patches and replacements, which use the name of the file. */
  kind: string
  /** A hash of the content is put at the end of the name. */
  needsHash?: boolean
}

export const itemOf = (object: ApiObject): Item => ({ object, formerNames: [object.metadata?.name ?? ''], kind: object.kind ?? '' })

const podSpecs = ['spec', 'spec/template/spec', 'spec/jobTemplate/spec/template/spec']
const inPods = (...paths: string[]): string[] => podSpecs.flatMap((root) => paths.map((path) => `${root}/${path}`))
const containers = (path: string): string[] => inPods(`containers/*/${path}`, `initContainers/*/${path}`)

/** By the kind that is spoken of: where its name may stand. */
const mentions: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: [
    ...inPods('volumes/*/configMap/name', 'volumes/*/projected/sources/*/configMap/name'),
    ...containers('env/*/valueFrom/configMapKeyRef/name'),
    ...containers('envFrom/*/configMapRef/name'),
  ],
  Secret: [
    ...inPods('volumes/*/secret/secretName', 'volumes/*/projected/sources/*/secret/name', 'imagePullSecrets/*/name'),
    ...containers('env/*/valueFrom/secretKeyRef/name'),
    ...containers('envFrom/*/secretRef/name'),
    'spec/tls/*/secretName',
    'imagePullSecrets/*/name',
    'secrets/*/name',
  ],
  PersistentVolumeClaim: inPods('volumes/*/persistentVolumeClaim/claimName'),
  ServiceAccount: [...inPods('serviceAccountName'), 'subjects/*/name'],
  Service: [
    'spec/serviceName',
    'spec/rules/*/http/paths/*/backend/service/name',
    'spec/defaultBackend/service/name',
    'spec/rules/*/http/paths/*/backend/serviceName',
    'spec/service/name',
    'webhooks/*/clientConfig/service/name',
  ],
  Deployment: ['spec/scaleTargetRef/name'],
  StatefulSet: ['spec/scaleTargetRef/name'],
  ReplicaSet: ['spec/scaleTargetRef/name'],
  Role: ['roleRef/name'],
  ClusterRole: ['roleRef/name'],
  PersistentVolume: ['spec/volumeName'],
  StorageClass: ['spec/storageClassName'],
  PriorityClass: inPods('priorityClassName'),
  IngressClass: ['spec/ingressClassName'],
}

/** What its sibling must say for a mention to be of this kind. */
const kindBeside: Readonly<Record<string, string>> = {
  'spec/scaleTargetRef/name': 'kind',
  'roleRef/name': 'kind',
  'subjects/*/name': 'kind',
}

/** Fields that speak of an object by a former name speak of it by its last one. */
export function withReferences(items: readonly Item[]): Item[] {
  for (const { object } of items) {
    for (const renamed of items) {
      const name = renamed.object.metadata?.name
      if (renamed.formerNames.every((former) => former === name)) continue
      for (const path of mentions[renamed.kind] ?? []) {
        for (const { holder, key } of placesAt(object, path.split('/'))) {
          const map = holder as Record<string, unknown>
          if (!renamed.formerNames.includes(String(map[key])) || !sameNamespace(object, renamed.object)) continue
          const beside = kindBeside[path]
          if (beside !== undefined && map[beside] !== renamed.kind) continue
          map[key] = name
        }
      }
    }
  }
  return [...items]
}

const sameNamespace = (one: ApiObject, other: ApiObject): boolean =>
  one.metadata?.namespace === undefined || other.metadata?.namespace === undefined || one.metadata.namespace === other.metadata.namespace

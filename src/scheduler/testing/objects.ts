/** Nodes and pods for tests, in few words. */

import type { V1Node, V1Pod, V1PodAffinityTerm, V1PodSpec, V1Taint } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type NodeWords = {
  cpu?: string
  memory?: string
  pods?: string
  zone?: string
  labels?: Record<string, string>
  taints?: V1Taint[]
  unschedulable?: boolean
  resources?: Record<string, string>
  images?: Record<string, number>
  features?: string[]
}

export function aNode(name: string, words: NodeWords = {}): V1Node {
  const { cpu = '4', memory = '8Gi', pods = '110', zone, labels = {}, taints, unschedulable, resources = {}, images = {}, features } = words
  return {
    metadata: {
      name,
      uid: `node-${name}`,
      labels: { 'kubernetes.io/hostname': name, ...defined({ 'topology.kubernetes.io/zone': zone }), ...labels },
    },
    spec: { ...defined({ taints }), ...omitEmpty({ unschedulable }) },
    status: {
      allocatable: { cpu, memory, pods, ...resources },
      ...defined({ declaredFeatures: features }),
      images: Object.entries(images).map(([image, sizeBytes]) => ({ names: [image], sizeBytes })),
    },
  }
}

export type PodWords = {
  namespace?: string
  labels?: Record<string, string>
  cpu?: string
  memory?: string
  requests?: Record<string, string>
  priority?: number
  on?: string
  near?: V1PodAffinityTerm
  apartFrom?: V1PodAffinityTerm
  hostPort?: number
  spec?: Partial<V1PodSpec>
  startTime?: string
  nominatedNodeName?: string
}

export function aPod(name: string, words: PodWords = {}): V1Pod {
  const {
    namespace = 'default',
    labels,
    cpu,
    memory,
    requests = {},
    priority,
    on,
    near,
    apartFrom,
    hostPort,
    spec,
    startTime,
    nominatedNodeName,
  } = words
  const asked = { ...omitEmpty({ cpu, memory }), ...requests }
  return {
    metadata: { name, namespace, uid: `${namespace}-${name}`, ...defined({ labels }) },
    spec: {
      schedulerName: 'default-scheduler',
      containers: [
        {
          name: 'main',
          image: 'app',
          ...defined({
            resources: Object.keys(asked).length > 0 ? { requests: asked } : undefined,
            ports: hostPort ? [{ containerPort: hostPort, hostPort }] : undefined,
          }),
        },
      ],
      ...defined({ priority, nodeName: on }),
      ...defined({
        affinity:
          near || apartFrom
            ? {
                ...defined({
                  podAffinity: near ? { requiredDuringSchedulingIgnoredDuringExecution: [near] } : undefined,
                  podAntiAffinity: apartFrom ? { requiredDuringSchedulingIgnoredDuringExecution: [apartFrom] } : undefined,
                }),
              }
            : undefined,
      }),
      ...spec,
    },
    status: { phase: 'Pending', ...omitEmpty({ startTime, nominatedNodeName }) },
  }
}

export const byLabel = (labels: Record<string, string>, topologyKey = 'topology.kubernetes.io/zone'): V1PodAffinityTerm => ({
  labelSelector: { matchLabels: labels },
  topologyKey,
})

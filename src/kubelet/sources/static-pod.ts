/** Pods from files and URLs: what they lack is filled in, and they are told apart by what they say. */

import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { jsYaml } from '#api/codec/js-yaml.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { atOnce } from '#base/steps.ts'
import { hashAnnotation, sourceAnnotation } from '#kubelet/sources/pod-source.ts'

type PodRules = typeof import('#api/core/v1/pod/pod.ts')

let loaded: PodRules | undefined

/** The rules of pods, loaded with the first static pod: most nodes have none, and the server validates all others. */
function podRules(): PodRules['podResource'] {
  loaded ??= createRequire(import.meta.url)('#api/core/v1/pod/pod.ts') as PodRules
  return loaded.podResource
}

export type StaticPodOrigin = { source: 'file' | 'http'; node: string; place: string; now: string }

/** One pod, or a list of them. Throws where the text is no such thing. */
export function staticPodsIn(text: string, origin: StaticPodOrigin): V1Pod[] {
  const found = jsYaml().load(text) as { kind?: string; items?: V1Pod[] } | null | undefined
  if (typeof found !== 'object' || found === null) throw new Error('invalid pod: the text holds no object')
  if (found.kind === 'PodList' || found.kind === 'List') return (found.items ?? []).map((pod) => staticPod(pod, origin))
  return [staticPod(found as V1Pod, origin)]
}

function staticPod(written: V1Pod, origin: StaticPodOrigin): V1Pod {
  const { source, node, place, now } = origin
  if (written.kind !== 'Pod' && !(written.kind === undefined && written.spec)) throw new Error(`invalid pod: its kind is ${written.kind}`)
  if (!written.metadata?.name) throw new Error('invalid pod: name is needed for the pod')
  const pod = structuredClone(written)
  podRules().defaults?.(pod)
  const uid = pod.metadata.uid || uidOf(written, [source === 'file' ? `host:${node}file:${place}` : `url:${place}`])
  const tolerations = [...(pod.spec.tolerations ?? [])]
  if (source === 'file' && !tolerations.some(({ key, operator, effect }) => !key && operator === 'Exists' && effect === 'NoExecute')) {
    tolerations.push({ operator: 'Exists', effect: 'NoExecute' })
  }
  const made: V1Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...pod.metadata,
      uid,
      name: `${pod.metadata.name}-${node.toLowerCase()}`,
      namespace: pod.metadata.namespace || 'default',
      annotations: {
        ...pod.metadata.annotations,
        [hashAnnotation]: uid,
        'kubernetes.io/config.seen': now,
        [sourceAnnotation]: source,
      },
    },
    spec: { ...pod.spec, nodeName: node, ...omitEmpty({ tolerations }) },
    status: { phase: 'Pending' },
  }
  validate(made)
  return made
}

function validate(pod: V1Pod): void {
  const check = new Check(pod)
  const steps = podRules().validate?.(pod, check, { now: '', isEnabled: () => true })
  if (steps) atOnce(steps)
  if (check.errors.length > 0) throw new Error(`invalid pod: [${check.errors.map(({ field, body }) => `${field}: ${body}`).join(', ')}]`)
}

/** The same words at the same place give the same pod, after a restart as well. */
function uidOf(pod: V1Pod, place: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([pod.metadata, pod.spec, place]))
    .digest('hex')
    .slice(0, 32)
}

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Toleration } from '#api/core/v1/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const keys = { notReady: 'node.kubernetes.io/not-ready', unreachable: 'node.kubernetes.io/unreachable' }

/** How long pods stay on a node in trouble, as the flags of the server say. */
export type DefaultTolerations = { notReadySeconds?: number; unreachableSeconds?: number }

const defaultSeconds = 300

/** Pods outlive a short failure of their node, unless they say for how long themselves. */
export function defaultTolerationSeconds({ configuration }: AdmissionContext): AdmissionPlugin {
  const { notReadySeconds = defaultSeconds, unreachableSeconds = defaultSeconds } = (configuration ?? {}) as DefaultTolerations
  return {
    name: 'DefaultTolerationSeconds',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods'],
    mutate(request) {
      const pod = objectOf(Pod, request)
      pod.spec ??= { containers: [] }
      const given = pod.spec.tolerations ?? []
      const added: V1Toleration[] = []
      if (!given.some((each) => speaksOf(each, keys.notReady))) added.push(toleration(keys.notReady, notReadySeconds))
      if (!given.some((each) => speaksOf(each, keys.unreachable))) added.push(toleration(keys.unreachable, unreachableSeconds))
      if (added.length > 0) pod.spec.tolerations = given.length === 0 ? added : [...given, ...added]
    },
  }
}

const toleration = (key: string, tolerationSeconds: number): V1Toleration => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds,
})

/** Whether the pod has spoken of the taint: unlike in tolerating it, operator and value do not matter. */
const speaksOf = ({ key, effect }: V1Toleration, wanted: string): boolean => (!key || key === wanted) && (!effect || effect === 'NoExecute')

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { RuntimeClass } from '#api/node/v1/kinds.gen.ts'
import type { V1RuntimeClass } from '#api/node/v1/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { mergeTolerations } from '#apiserver/admission/merge-tolerations.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const sameOverhead = equalityOf(Pod).at('spec').at('overhead')

const overheadDiffers = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

/** A pod takes overhead, node selector and tolerations from its runtime class. */
export function runtimeClass({ cluster }: AdmissionContext): AdmissionPlugin {
  /** Goes on at once with what is in memory, later if the store has to be asked. */
  const withClass = (
    request: AdmissionRequest,
    goOn: (request: AdmissionRequest, pod: V1Pod, found: V1RuntimeClass | undefined) => void,
  ): void | Promise<void> => {
    const pod = objectOf(Pod, request)
    const name = pod.spec?.runtimeClassName
    if (name === undefined) return goOn(request, pod, undefined)
    const known = cluster.get(RuntimeClass, name)
    if (known !== undefined) return goOn(request, pod, known)
    return cluster.getFresh(RuntimeClass, name).then((found) => {
      if (found === undefined) throw forbid(request, `pod rejected: RuntimeClass "${name}" not found`)
      goOn(request, pod, found)
    })
  }
  return {
    name: 'RuntimeClass',
    operations: ['CREATE'],
    resources: ['pods'],
    mutate: (request) => withClass(request, takeOver),
    validate: (request) => withClass(request, validate),
  }
}

function takeOver(request: AdmissionRequest, { spec }: V1Pod, found: V1RuntimeClass | undefined): void {
  const { overhead, scheduling } = found ?? {}
  if (overhead !== undefined) {
    const { podFixed } = overhead
    if (Object.keys(spec.overhead ?? {}).length > 0 && !sameOverhead(spec.overhead, podFixed)) throw forbid(request, overheadDiffers)
    if (podFixed === undefined) delete spec.overhead
    else spec.overhead = { ...podFixed }
  }
  if (scheduling === undefined) return
  const { nodeSelector, tolerations = [] } = scheduling
  for (const [key, wanted] of Object.entries(nodeSelector ?? {})) {
    const given = spec.nodeSelector?.[key]
    if (given !== undefined && given !== wanted) {
      const [theirs, ours] = [`runtimeClass.scheduling.nodeSelector[${key}] = ${wanted}`, `pod.spec.nodeSelector[${key}] = ${given}`]
      throw forbid(request, `conflict: ${theirs}; ${ours}`)
    }
  }
  if (nodeSelector !== undefined) spec.nodeSelector = { ...spec.nodeSelector, ...nodeSelector }
  const merged = mergeTolerations(spec.tolerations ?? [], tolerations)
  if (merged.length > 0) spec.tolerations = merged
}

function validate(request: AdmissionRequest, { spec }: V1Pod, found: V1RuntimeClass | undefined): void {
  if (found?.overhead === undefined) {
    if (spec?.overhead === undefined) return
    throw forbid(request, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead')
  }
  if (!sameOverhead(spec?.overhead, found.overhead.podFixed)) throw forbid(request, overheadDiffers)
}

import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Binding } from '#api/core/v1/types.gen.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const copiedLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']

/** Pods learn from their labels in which zone and region they run. Labels of a binding go to its pod. */
export function podTopologyLabels({ cluster }: AdmissionContext): AdmissionPlugin {
  const copyLabels = (metadata: V1ObjectMeta, nodeName: string | undefined): void => {
    const labels = nodeName ? cluster.labels(Node, nodeName) : undefined
    for (const key of copiedLabels) {
      const value = labels?.[key]
      if (value === undefined) continue
      metadata.labels ??= {}
      metadata.labels[key] = value
    }
  }
  return {
    name: 'PodTopologyLabels',
    operations: ['CREATE'],
    resources: ['pods', 'pods/binding'],
    mutate(request) {
      if (request.subresource === '') {
        const pod = objectOf(Pod, request)
        copyLabels(pod.metadata, pod.spec?.nodeName)
      } else {
        const binding = request.object as V1Binding
        binding.metadata ??= {}
        if (binding.target?.kind === 'Node') copyLabels(binding.metadata, binding.target.name)
      }
    },
  }
}

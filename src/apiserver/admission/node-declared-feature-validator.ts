import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

const sameSpec = equalityOf(Pod).at('spec')

/** What a change of a running pod asks of its kubelet, by the name under which nodes declare it; in order of name. */
const requirements: readonly { feature: string; isNeeded(next: V1PodSpec, prev: V1PodSpec): boolean }[] = [
  {
    feature: 'InPlacePodLevelResourcesVerticalScaling',
    isNeeded: (next, prev) => !sameSpec.at('resources')(next.resources, prev.resources),
  },
  {
    feature: 'InPlacePodVerticalScalingInitContainers',
    isNeeded: (next, prev) =>
      (prev.initContainers ?? []).some(
        (container, index) =>
          !isSidecar(container) &&
          !sameSpec.at('containers').each.at('resources')(container.resources, next.initContainers?.[index]?.resources),
      ),
  },
]

/** Pods change only in ways that their node knows how to follow. */
export function nodeDeclaredFeatureValidator({ cluster }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'NodeDeclaredFeatureValidator',
    operations: ['UPDATE'],
    resources: ['pods', 'pods/resize'],
    validate(request) {
      const [next, prev] = [objectOf(Pod, request), oldObjectOf(Pod, request)]
      const { nodeName } = next.spec
      if (!nodeName || next.metadata.generation === prev.metadata.generation) return
      const needed = requirements.filter(({ isNeeded }) => isNeeded(next.spec, prev.spec)).map(({ feature }) => feature)
      if (needed.length === 0) return
      const node = cluster.get(Node, nodeName)
      if (node === undefined) throw forbid(request, `node "${nodeName}" not found`)
      const missing = needed.filter((feature) => !node.status?.declaredFeatures?.includes(feature))
      if (missing.length === 0) return
      throw forbid(request, `pod update requires features ${missing.join(', ')} which are not available on node "${nodeName}"`)
    },
  }
}

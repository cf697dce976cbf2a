import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { forbidden } from '#api/meta/status-error.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'

const hostname = 'kubernetes.io/hostname'

/** A pod may keep others off its node, not off a whole zone. */
export function limitPodHardAntiAffinityTopology(): AdmissionPlugin {
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods'],
    validate(request) {
      const { spec, metadata } = request.object as V1Pod
      const terms = spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
      const wide = terms.find(({ topologyKey }) => topologyKey !== hostname)
      if (wide === undefined) return
      const found = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${wide.topologyKey}`
      throw forbidden(request.resource, metadata.name ?? '', `${found} but only key ${hostname} is allowed`)
    },
  }
}

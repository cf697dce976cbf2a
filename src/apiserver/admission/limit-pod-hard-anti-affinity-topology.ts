import { Pod } from '#api/core/v1/kinds.gen.ts'
import { forbidden } from '#api/meta/status-error.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const hostname = 'kubernetes.io/hostname'

/** A pod may keep others off its node, not off a whole zone. */
export function limitPodHardAntiAffinityTopology(): AdmissionPlugin {
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods'],
    validate(request) {
      const { spec, metadata } = objectOf(Pod, request)
      const terms = spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
      const wide = terms.find(({ topologyKey }) => topologyKey !== hostname)
      if (wide === undefined) return
      const found = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${wide.topologyKey}`
      throw forbidden(request.resource, metadata.name ?? '', `${found} but only key ${hostname} is allowed`)
    },
  }
}

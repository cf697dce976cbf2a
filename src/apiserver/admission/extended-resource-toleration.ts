import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isExtendedResource } from '#api/core/v1/resource-names.ts'
import type { V1Pod, V1Toleration } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const sameToleration = equalityOf(Pod).at('spec').at('tolerations').each

/** Nodes with special devices are tainted with the device's name; the pods that ask for it may go there. */
export function extendedResourceToleration(): AdmissionPlugin {
  return {
    name: 'ExtendedResourceToleration',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods'],
    mutate(request) {
      const pod = objectOf(Pod, request)
      const names = new Set<string>()
      for (const { resources } of [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]) {
        for (const name in resources?.requests) if (isExtendedResource(name)) names.add(name)
      }
      for (const key of [...names].sort()) addOrReplace(pod, { key, operator: 'Exists', effect: 'NoSchedule' })
    },
  }
}

function addOrReplace({ spec }: V1Pod, toleration: V1Toleration): void {
  const given = spec.tolerations ?? []
  const isSame = ({ key, effect, operator, value }: V1Toleration) =>
    key === toleration.key && effect === toleration.effect && operator === toleration.operator && !value
  if (given.some((each) => sameToleration(each, toleration))) return
  spec.tolerations = given.some(isSame) ? given.map((each) => (isSame(each) ? toleration : each)) : [...given, toleration]
}

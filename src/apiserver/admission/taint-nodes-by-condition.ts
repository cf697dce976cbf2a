import { Node } from '#api/core/v1/kinds.gen.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const key = 'node.kubernetes.io/not-ready'
const effect = 'NoSchedule'

/** A new node takes no pods until it is found ready: the node controller would put the taint there too late. */
export function taintNodesByCondition(): AdmissionPlugin {
  return {
    name: 'TaintNodesByCondition',
    operations: ['CREATE'],
    resources: ['nodes'],
    mutate(request) {
      const node = objectOf(Node, request)
      node.spec ??= {}
      const taints = node.spec.taints ?? []
      if (!taints.some((taint) => taint.key === key && taint.effect === effect)) node.spec.taints = [...taints, { key, effect }]
    },
  }
}

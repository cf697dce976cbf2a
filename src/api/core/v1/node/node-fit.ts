/** Whether a pod may be on a node, as far as labels and taints go. */
import type { V1Node, V1NodeSelector, V1NodeSelectorRequirement, V1PodSpec, V1Taint, V1Toleration } from '#api/core/v1/types.gen.ts'

export function tolerates(toleration: V1Toleration, { key, value = '', effect }: V1Taint): boolean {
  if (toleration.effect && toleration.effect !== effect) return false
  if (toleration.key && toleration.key !== key) return false
  switch (toleration.operator ?? 'Equal') {
    case 'Exists':
      return true
    case 'Equal':
      return Boolean(toleration.key) && (toleration.value ?? '') === value
    case 'Lt':
      return isNumber(value) && isNumber(toleration.value) && Number(value) < Number(toleration.value)
    case 'Gt':
      return isNumber(value) && isNumber(toleration.value) && Number(value) > Number(toleration.value)
    default:
      return false
  }
}

const isNumber = (text: string | undefined): boolean => text !== undefined && /^-?\d+$/.test(text)

/** The first taint of these effects that nothing tolerates. */
export function untoleratedTaint(
  taints: readonly V1Taint[] | undefined,
  tolerations: readonly V1Toleration[] | undefined,
  effects: readonly string[],
): V1Taint | undefined {
  return taints?.find((taint) => effects.includes(taint.effect) && !tolerations?.some((toleration) => tolerates(toleration, taint)))
}

/** The node selector and the affinity that is required. */
export function fitsNodeLabels({ nodeSelector, affinity }: V1PodSpec, node: V1Node): boolean {
  const labels = node.metadata.labels ?? {}
  if (!Object.entries(nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return required === undefined || matchesNodeSelector(required, node)
}

function matchesNodeSelector({ nodeSelectorTerms }: V1NodeSelector, { metadata }: V1Node): boolean {
  return nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false
    const byLabel = matchExpressions.every((requirement) => meets(requirement, metadata.labels?.[requirement.key]))
    return (
      byLabel && matchFields.every((requirement) => meets(requirement, requirement.key === 'metadata.name' ? metadata.name : undefined))
    )
  })
}

function meets({ operator, values = [] }: V1NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return isNumber(value) && Number(value) > Number(values[0])
    case 'Lt':
      return isNumber(value) && Number(value) < Number(values[0])
    default:
      return false
  }
}

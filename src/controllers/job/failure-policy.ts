import type { V1PodFailurePolicy, V1PodFailurePolicyRule } from '#api/batch/v1/types.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'

export type MatchedRule = { action: string /** Why the job fails, for rules that fail it. */; message: string }

/** The first rule that fits how the pod failed. */
export function matchedRule(policy: V1PodFailurePolicy | undefined, pod: V1Pod): MatchedRule | undefined {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const what = matchOf(rule, pod)
    if (what === undefined) continue
    return { action: rule.action, message: `${what} matching ${rule.action} rule at index ${index}` }
  }
  return undefined
}

function matchOf({ onExitCodes, onPodConditions }: V1PodFailurePolicyRule, { metadata, status }: V1Pod): string | undefined {
  if (onExitCodes !== undefined && onExitCodes !== null) {
    const { containerName, operator, values } = onExitCodes
    for (const { name, state } of [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]) {
      const exitCode = state?.terminated?.exitCode ?? 0
      if (exitCode === 0 || (containerName !== undefined && containerName !== name)) continue
      if (values.includes(exitCode) === (operator === 'In'))
        return `Container ${name} for pod ${metadata.namespace}/${metadata.name} failed with exit code ${exitCode}`
    }
    return undefined
  }
  const condition = status?.conditions?.find((each) =>
    onPodConditions?.some((pattern) => pattern.type === each.type && (pattern.status ?? 'True') === each.status),
  )
  return condition && `Pod ${metadata.namespace}/${metadata.name} has condition ${condition.type}`
}

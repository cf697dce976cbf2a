import { findCondition } from '#api/meta/find-condition.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { RuntimeHealth } from '#kubelet/runtimes/runtime.ts'
import type { criMethods } from '#wire/cri/cri-messages.ts'
import type { RuntimeCondition } from '#wire/cri/cri-types.ts'

type Status = ReturnType<typeof criMethods.status.decodeResponse>

/** What a runtime says of itself, in the words that a node's conditions have for it. */
export function healthOf({ status, runtimeHandlers, features }: Status): RuntimeHealth {
  const find = (type: string) => findCondition(status?.conditions, type)
  const runtime = find('RuntimeReady')
  const network = find('NetworkReady')
  return {
    ...defined({
      runtimeProblem: runtime?.status ? undefined : `container runtime not ready: ${conditionText(runtime)}`,
      networkProblem: network?.status ? undefined : `container runtime network not ready: ${conditionText(network)}`,
    }),
    ...omitEmpty({ handlers: runtimeHandlers }),
    ...defined({ features: features === undefined ? undefined : { supplementalGroupsPolicy: features.supplementalGroupsPolicy } }),
  }
}

function conditionText(condition: RuntimeCondition | undefined): string {
  if (condition === undefined) return '<nil>'
  const { type, status, reason, message } = condition
  return `${type}=${status} reason:${reason} message:${message}`
}

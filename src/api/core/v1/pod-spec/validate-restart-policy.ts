/** Validates when single containers are restarted. */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Container, V1ContainerRestartRule } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

const policies = ['Always', 'Never', 'OnFailure']
const maxRules = 20
const maxExitCodes = 255
const policyMissing = 'must specify restartPolicy when restart rules are used'

/** `check` stands at the container. */
export function validateRestartPolicy(check: Check<V1Container>, options: PodValidationOptions): void {
  const container = check.value
  const { restartPolicy, restartPolicyRules: rules = [] } = container
  if (restartPolicy === undefined) {
    if (rules.length === 0) return
    check.at('restartPolicy').required(policyMissing)
  } else if (!policies.includes(restartPolicy)) check.at('restartPolicy').notSupported(policies)
  if (rules.length > maxRules) check.at('restartPolicyRules').tooMany(rules.length, maxRules)
  const actions = options.allowRestartAllContainers ? ['Restart', 'RestartAllContainers'] : ['Restart']
  for (const at of check.at('restartPolicyRules').items()) validateRule(at, actions)
}

function validateRule(check: Check<V1ContainerRestartRule>, actions: readonly string[]): void {
  const { action = '', exitCodes } = check.value
  if (!actions.includes(action)) check.at('action').or('').notSupported(actions)
  if (exitCodes === undefined) {
    check.at('exitCodes').required('must be specified')
    return
  }
  const { operator = '', values = [] } = exitCodes
  if (operator !== 'In' && operator !== 'NotIn') check.at('exitCodes').at('operator').or('').notSupported(['In', 'NotIn'])
  if (values.length > maxExitCodes) check.at('exitCodes').at('values').tooMany(values.length, maxExitCodes)
}

/** `check` stands at the init container. */
export function validateInitRestartPolicy(check: Check<V1Container>, options: PodValidationOptions): void {
  const container = check.value
  const { restartPolicy, restartPolicyRules: rules = [] } = container
  if (restartPolicy === undefined) {
    if (rules.length > 0) check.at('restartPolicy').required(policyMissing)
  } else if (!options.allowContainerRestartRules) {
    if (!isSidecar(container)) check.at('restartPolicy').notSupported(['Always'])
  } else if (!isSidecar(container) || options.allowRestartAllContainers) validateRestartPolicy(check, options)
  else if (rules.length > 0) {
    check.at('restartPolicyRules').forbidden('restartPolicyRules are not allowed for init containers with restart policy Always')
  }
}

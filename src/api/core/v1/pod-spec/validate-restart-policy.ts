/** Judges when single containers are restarted. */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Container, V1ContainerRestartRule } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

const policies = ['Always', 'Never', 'OnFailure']
const maxRules = 20
const maxExitCodes = 255
const policyMissing = 'must specify restartPolicy when restart rules are used'

/** `check` stands at the container. */
export function validateRestartPolicy(container: V1Container, check: Check, options: PodValidationOptions): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container
  if (restartPolicy === undefined) {
    if (rules.length === 0) return
    check.at('restartPolicy').required(policyMissing)
  } else if (!policies.includes(restartPolicy)) check.at('restartPolicy').notSupported(restartPolicy, policies)
  if (rules.length > maxRules) check.at('restartPolicyRules').tooMany(rules.length, maxRules)
  const actions = options.allowRestartAllContainers ? ['Restart', 'RestartAllContainers'] : ['Restart']
  for (const [index, rule] of rules.entries()) validateRule(rule, actions, check.at('restartPolicyRules').at(index))
}

function validateRule({ action = '', exitCodes }: V1ContainerRestartRule, actions: readonly string[], check: Check): void {
  if (!actions.includes(action)) check.at('action').notSupported(action, actions)
  if (exitCodes === undefined) {
    check.at('exitCodes').required('must be specified')
    return
  }
  const { operator = '', values = [] } = exitCodes
  if (operator !== 'In' && operator !== 'NotIn') check.at('exitCodes.operator').notSupported(operator, ['In', 'NotIn'])
  if (values.length > maxExitCodes) check.at('exitCodes.values').tooMany(values.length, maxExitCodes)
}

/** `check` stands at the init container. */
export function validateInitRestartPolicy(container: V1Container, check: Check, options: PodValidationOptions): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container
  if (restartPolicy === undefined) {
    if (rules.length > 0) check.at('restartPolicy').required(policyMissing)
  } else if (!options.allowContainerRestartRules) {
    if (!isSidecar(container)) check.at('restartPolicy').notSupported(restartPolicy, ['Always'])
  } else if (!isSidecar(container) || options.allowRestartAllContainers) validateRestartPolicy(container, check, options)
  else if (rules.length > 0) {
    check.at('restartPolicyRules').forbidden('restartPolicyRules are not allowed for init containers with restart policy Always')
  }
}

/** Namespaces, quotas, priorities and disruption budgets out of flags. */

import { isQuantity } from '#api/meta/quantity.ts'
import { labelSelectorObject } from '#api/meta/selector.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { nameArgument } from './create-object.ts'

export function namespace(call: Call): ApiObject {
  return { kind: 'Namespace', apiVersion: 'v1', metadata: { name: nameArgument(call) } }
}

export function quota(call: Call): ApiObject {
  const name = nameArgument(call)
  const hard = call.flags.text('hard')
  const scopes = call.flags.text('scopes')
  return {
    kind: 'ResourceQuota',
    apiVersion: 'v1',
    metadata: { name },
    spec: {
      ...defined({
        hard: hard === '' ? undefined : quantities(hard),
        scopes:
          scopes === ''
            ? undefined
            : scopes.split(',').map((scope) => {
                if (scope === '') throw new CliError('invalid resource quota scope ""')
                return scope
              }),
      }),
    },
  }
}

/** `cpu=1,memory=2Gi` */
export function quantities(text: string): Record<string, string> {
  const result: Record<string, string> = {}
  for (const statement of text.split(',')) {
    const parts = statement.split('=')
    const [key = '', value = ''] = parts
    if (parts.length !== 2) throw new CliError(`Invalid argument syntax ${statement}, expected <resource>=<value>`)
    if (!isQuantity(value))
      throw new CliError(`quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`)
    result[key] = value
  }
  return result
}

export function priorityClass(call: Call): ApiObject {
  const { flags } = call
  const [description, preemptionPolicy] = [flags.text('description'), flags.text('preemption-policy')]
  return {
    kind: 'PriorityClass',
    apiVersion: 'scheduling.k8s.io/v1',
    metadata: { name: nameArgument(call) },
    value: flags.number('value'),
    ...omitEmpty({ globalDefault: flags.isOn('global-default'), description }),
    preemptionPolicy,
  }
}

export function disruptionBudget(call: Call): ApiObject {
  const name = nameArgument(call)
  const { flags } = call
  const [selector, min, max] = [flags.text('selector'), flags.text('min-available'), flags.text('max-unavailable')]
  if (selector === '') throw new CliError('a selector must be specified')
  if (min === '' && max === '') throw new CliError('one of min-available or max-unavailable must be specified')
  if (min !== '' && max !== '') throw new CliError('min-available and max-unavailable cannot be both specified')
  const format = /^[0-9]+%?$/
  if (min !== '' && !format.test(min)) throw new CliError('invalid format specified for min-available')
  if (max !== '' && !format.test(max)) throw new CliError('invalid format specified for max-unavailable')
  const amount = (text: string) => (text.endsWith('%') ? text : Number(text))
  return {
    kind: 'PodDisruptionBudget',
    apiVersion: 'policy/v1',
    metadata: { name },
    spec: {
      ...defined({ minAvailable: min === '' ? undefined : amount(min) }),
      selector: labelSelectorObject(selector),
      ...defined({ maxUnavailable: max === '' ? undefined : amount(max) }),
    },
  }
}

/** Requests and limits of containers as the downward API gives them to containers. */

import type { V1Container, V1Pod, V1ResourceFieldSelector } from '#api/core/v1/types.gen.ts'
import { parseQuantity, type Quantity, quantityOf } from '#api/meta/quantity.ts'
import { defined } from '#base/defined.ts'

export type Resources = { [resource: string]: string }

const limited = ['cpu', 'memory', 'ephemeral-storage']

/** In units of the divisor, rounded up. Limits that are not set are the default ones. */
export function containerResource(
  { resource, divisor = '0' }: V1ResourceFieldSelector,
  pod: V1Pod,
  container: V1Container | string | undefined,
  defaultLimits: Resources,
): string {
  const { resources = {} } = typeof container === 'object' ? container : containerNamed(pod, container ?? '')
  const [, kind = '', name = ''] = /^(limits|requests)\.(.+)$/.exec(resource) ?? []
  if (!limited.includes(name) && !name.startsWith('hugepages-')) throw new Error(`unsupported container resource : ${resource}`)
  const amount =
    kind === 'limits' ? [resources.limits?.[name], ...(limited.includes(name) ? [defaultLimits[name]] : [])] : [resources.requests?.[name]]
  const given = amount.map(quantity).find((value) => value !== undefined && !value.isZero) ?? quantityOf(0)
  const asked = quantity(divisor)
  const unit = asked === undefined || asked.isZero ? quantityOf(1) : asked
  const [left, right] = name === 'cpu' ? [given.milliValue(), unit.milliValue()] : [given.value(), unit.value()]
  return String(Math.ceil(left / right))
}

/** The pod's own limits, and else all that the node has. */
export function podDefaultLimits({ spec }: V1Pod, allocatable: Resources): Resources {
  const { cpu, memory } = spec.resources?.limits ?? {}
  return { ...allocatable, ...defined({ cpu, memory }) }
}

const quantity = (text: string | undefined): Quantity | undefined => (text === undefined ? undefined : parseQuantity(String(text)))

function containerNamed({ spec }: V1Pod, name: string): V1Container {
  const found = [...spec.containers, ...(spec.initContainers ?? [])].find((container) => container.name === name)
  if (found === undefined) throw new Error(`container ${name} not found`)
  return found
}

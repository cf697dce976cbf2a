/** The bounds of a limit range, and the sentences about what is outside of them. */

import { type Quantities, sumOverContainers } from '#api/core/v1/resources.ts'
import type { V1LimitRangeItem, V1PersistentVolumeClaim, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { parseQuantity, type Quantity, zeroQuantity } from '#api/meta/quantity.ts'
import { append } from '#base/append.ts'

export function podFaults(limits: readonly V1LimitRangeItem[], { spec }: V1Pod): string[] {
  const faults: string[] = []
  for (const limit of limits) {
    if (limit.type === 'Container') {
      for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
        append(faults, faultsWithin(limit, parsed(resources?.requests), parsed(resources?.limits)))
      }
    } else if (limit.type === 'Pod') append(faults, faultsWithin(limit, podTotal(spec, 'requests'), podTotal(spec, 'limits')))
  }
  return faults
}

/** Claims have requests only. */
export function claimFaults(limits: readonly V1LimitRangeItem[], { spec }: V1PersistentVolumeClaim): string[] {
  const requests = parsed(spec?.resources?.requests)
  const faults: (string | undefined)[] = []
  for (const { type, min, max } of limits) {
    if (type !== 'PersistentVolumeClaim') continue
    for (const [name, bound] of entries(min)) faults.push(belowMinimum(type, name, bound, requests[name], undefined))
    for (const [name, bound] of entries(max)) faults.push(requestAboveMaximum(type, name, bound, requests[name]))
  }
  return faults.filter((fault) => fault !== undefined)
}

function faultsWithin({ type, min, max, maxLimitRequestRatio }: V1LimitRangeItem, requests: Quantities, limits: Quantities): string[] {
  return [
    ...entries(min).map(([name, bound]) => belowMinimum(type, name, bound, requests[name], limits[name])),
    ...entries(max).map(([name, bound]) => aboveMaximum(type, name, bound, requests[name], limits[name])),
    ...entries(maxLimitRequestRatio).map(([name, bound]) => aboveRatio(type, name, bound, requests[name], limits[name])),
  ].filter((fault) => fault !== undefined)
}

type Amount = Quantity | undefined

function belowMinimum(type: string, name: string, minimum: Quantity, request: Amount, limit: Amount): string | undefined {
  const rule = `minimum ${name} usage per ${type} is ${minimum}`
  if (request === undefined) return `${rule}.  No request is specified`
  const [requested, limited, bound] = comparable(request, limit, minimum)
  if (requested < bound) return `${rule}, but request is ${request}`
  return limit !== undefined && limited < bound ? `${rule}, but limit is ${limit}` : undefined
}

function aboveMaximum(type: string, name: string, maximum: Quantity, request: Amount, limit: Amount): string | undefined {
  const rule = `maximum ${name} usage per ${type} is ${maximum}`
  if (limit === undefined) return `${rule}.  No limit is specified`
  const [requested, limited, bound] = comparable(request, limit, maximum)
  if (limited > bound) return `${rule}, but limit is ${limit}`
  return request !== undefined && requested > bound ? `${rule}, but request is ${request}` : undefined
}

function requestAboveMaximum(type: string, name: string, maximum: Quantity, request: Amount): string | undefined {
  const rule = `maximum ${name} usage per ${type} is ${maximum}`
  if (request === undefined) return `${rule}.  No request is specified`
  const [requested, , bound] = comparable(request, undefined, maximum)
  return requested > bound ? `${rule}, but request is ${request}` : undefined
}

function aboveRatio(type: string, name: string, maximum: Quantity, request: Amount, limit: Amount): string | undefined {
  const rule = `${name} max limit to request ratio per ${type} is ${maximum}`
  const [requested, limited] = comparable(request, limit, maximum)
  if (requested === 0n) return `${rule}, but no request is specified or request is 0`
  if (limited === 0n) return `${rule}, but no limit is specified or limit is 0`
  const ratio = Number(limited) / Number(requested)
  const isFine = maximum.scaledValue(0) <= maxMilliValue
  const isAbove = isFine ? ratio * 1000 > Number(maximum.scaledValue(-3)) : ratio > Number(maximum.scaledValue(0))
  return isAbove ? `${rule}, but provided ratio is ${ratio.toFixed(6)}` : undefined
}

const maxMilliValue = (2n ** 63n - 1n) / 1000n

/** In thousandths if all three fit, else in whole units: upstream rounds this way, and bounds are bounds. */
function comparable(...amounts: [Amount, Amount, Quantity]): [bigint, bigint, bigint] {
  const scaled = (scale: number) => amounts.map((amount) => (amount ?? zeroQuantity).scaledValue(scale)) as [bigint, bigint, bigint]
  const whole = scaled(0)
  return whole.every((value) => value <= maxMilliValue) ? scaled(-3) : whole
}

/** Pod level amounts of cpu and memory stand for those of the containers. Overhead does not count. */
function podTotal(spec: V1PodSpec, list: 'requests' | 'limits'): Quantities {
  const total = sumOverContainers(spec, list)
  for (const name of ['cpu', 'memory']) {
    const text = spec.resources?.[list]?.[name]
    if (text !== undefined) total[name] = parseQuantity(text)
  }
  return total
}

function parsed(list: { [name: string]: string } | undefined): Quantities {
  return Object.fromEntries(entries(list))
}

function entries(list: { [name: string]: string } | undefined): [string, Quantity][] {
  return Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)])
}

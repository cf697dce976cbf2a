/** What an add-on needs in a cluster of some size: a base, and so much more for each node or container. */

import { parseQuantity, type Quantity } from '#api/meta/quantity.ts'

export type ResourceName = 'cpu' | 'memory' | 'storage'

export type Need = { readonly base: string; readonly extra: string }

export type Needs = Readonly<Partial<Record<ResourceName, Need>>>

export type Estimator = { kind: 'linear' } | { kind: 'exponential'; minClusterSize: number }

const resourceNames: readonly ResourceName[] = ['cpu', 'memory', 'storage']
const scaleFactor = 1.5
const epsilon = 0.01

export function estimateResources(needs: Needs, clusterSize: number, estimator: Estimator): Record<string, string> {
  const size = estimator.kind === 'linear' ? clusterSize : roundedUp(clusterSize, estimator.minClusterSize)
  const estimate: Record<string, string> = {}
  for (const name of resourceNames) {
    const need = needs[name]
    if (need !== undefined) estimate[name] = parseQuantity(need.base).add(times(need.extra, size)).toString()
  }
  return estimate
}

/** The next size at which anything changes, so that a cluster that grows by one does not restart its add-ons. */
function roundedUp(clusterSize: number, minClusterSize: number): number {
  let size = minClusterSize
  while (size < clusterSize) size = Math.floor(size * scaleFactor + epsilon)
  return size
}

/** A thousandth of a core may be too much for one node: parts of units are added up before they are rounded. */
function times(extra: string, size: number): Quantity {
  const [, amount = '0', unit = ''] = /^([+-]?[0-9.]+)(.*)$/s.exec(extra) ?? []
  return parseQuantity(`${(Number(amount) * size).toFixed(6)}${unit}`)
}

export type Direction = 'up' | 'down' | 'other'

type Resources = { limits?: Readonly<Record<string, string>>; requests?: Readonly<Record<string, string>> }

/** Undefined where limits and requests are within `thresholdPercent` of what is expected. The first resource that is not decides. */
export function directionOf(
  present: Resources,
  expected: Readonly<Record<string, string>>,
  thresholdPercent: number,
): Direction | undefined {
  for (const name of resourceNames) {
    for (const list of [present.limits ?? {}, present.requests ?? {}]) {
      const [actual, wanted] = [list[name], expected[name]]
      if (actual === undefined && wanted === undefined) continue
      if (actual === undefined || wanted === undefined) return 'other'
      const percent = percentOf(parseQuantity(actual), parseQuantity(wanted))
      if (percent < 100 - thresholdPercent) return 'up'
      if (percent > 100 + thresholdPercent) return 'down'
    }
  }
  return undefined
}

/** Whole percents, rounded towards zero. */
function percentOf(actual: Quantity, wanted: Quantity): number {
  const nano = -9
  const [part, whole] = [actual.scaledValue(nano), wanted.scaledValue(nano)]
  if (whole === 0n) return part === 0n ? 100 : Number.POSITIVE_INFINITY
  return Number((part * 100n) / whole)
}

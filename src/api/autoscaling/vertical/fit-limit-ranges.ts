/** Recommendations that a namespace's limit ranges let pass: a pod that got more, or less, would be refused. */
import type { Amounts, ContainerRecommendation, VerticalAutoscaler } from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import type { V1Container, V1LimitRange } from '#api/core/v1/types.gen.ts'
import { compareQuantities, milliQuantityOf, milliValueOf, quantityOf, wholeValueOf } from '#api/meta/quantity.ts'
import { defined } from '#base/defined.ts'

type Bounds = { readonly min: Amounts; readonly max: Amounts; readonly limit: Amounts }
type Resource = 'cpu' | 'memory'
type List = 'target' | 'lowerBound' | 'upperBound'

const resources: readonly Resource[] = ['cpu', 'memory']
const lists: readonly List[] = ['upperBound', 'target', 'lowerBound']

/** The strictest of all limit ranges; undefined where none says anything of the type. */
function boundsOf(ranges: readonly V1LimitRange[], type: 'Container' | 'Pod'): Bounds | undefined {
  const items = ranges.flatMap(({ spec }) => spec.limits ?? []).filter((item) => item.type === type)
  if (!items.some(({ min, max, default: limit }) => min ?? max ?? limit)) return undefined
  const strictest = (of: readonly (Amounts | undefined)[], isStricter: (one: string, other: string) => boolean) => {
    const found: Record<string, string> = {}
    for (const amounts of of) {
      for (const [name, amount] of Object.entries(amounts ?? {})) {
        const before = found[name]
        if (before === undefined || isStricter(amount, before)) found[name] = amount
      }
    }
    return found
  }
  return {
    min: strictest(
      items.map(({ min }) => min),
      (one, other) => compareQuantities(one, other) > 0,
    ),
    max: strictest(
      items.map(({ max }) => max),
      (one, other) => compareQuantities(one, other) < 0,
    ),
    // The last one that has any counts.
    limit: items.findLast((item) => item.default !== undefined)?.default ?? {},
  }
}

const numberOf = (resource: Resource, text: string | undefined): number => (resource === 'cpu' ? milliValueOf(text) : wholeValueOf(text))
const textOf = (resource: Resource, amount: number): string =>
  (resource === 'cpu' ? milliQuantityOf(amount) : quantityOf(amount)).toString()

/** The autoscaler with the recommendations that suit these containers, before its policies have their say. */
export function fitLimitRanges(
  autoscaler: VerticalAutoscaler,
  containers: readonly V1Container[],
  ranges: readonly V1LimitRange[],
): VerticalAutoscaler {
  const ofPod = boundsOf(ranges, 'Pod')
  const ofContainer = boundsOf(ranges, 'Container')
  if (ofPod === undefined && ofContainer === undefined) return autoscaler
  const byName = new Map(containers.map((container) => [container.name, container]))
  let recommendations = autoscaler.recommendations
  if (ofPod !== undefined) recommendations = withinPod(recommendations, containers, ofPod)
  if (ofContainer !== undefined) {
    recommendations = recommendations.map((recommendation) => {
      const container = byName.get(recommendation.container)
      return container === undefined ? recommendation : withinContainer(recommendation, container, ofContainer)
    })
  }
  return { ...autoscaler, recommendations }
}

function withinContainer(recommendation: ContainerRecommendation, container: V1Container, bounds: Bounds): ContainerRecommendation {
  return changed(recommendation, (resource, amount) => {
    const request = numberOf(resource, container.resources?.requests?.[resource])
    const limit = numberOf(resource, container.resources?.limits?.[resource] ?? bounds.limit[resource])
    // Limits keep their proportion: so far requests may go until the limit is at the bound.
    const boundary = (bound: number) => (limit === 0 ? 0 : request === 0 ? bound : Math.trunc((request * bound) / limit))
    const least = Math.max(boundary(numberOf(resource, bounds.min[resource])), numberOf(resource, bounds.min[resource]))
    const most = boundary(numberOf(resource, bounds.max[resource]))
    const raised = Math.max(amount, least)
    return most > 0 ? Math.min(raised, most) : raised
  })
}

/** What all containers get together is within bounds, each in the same proportion. */
function withinPod(
  recommendations: readonly ContainerRecommendation[],
  containers: readonly V1Container[],
  bounds: Bounds,
): ContainerRecommendation[] {
  const missing = containers.filter(
    ({ name, resources: own }) => own?.requests !== undefined && !recommendations.some(({ container }) => container === name),
  )
  let all: ContainerRecommendation[] = [
    ...recommendations,
    ...missing.map(({ name, resources: own }) => ({ container: name, target: own?.requests ?? {} })),
  ]
  for (const list of lists) {
    for (const resource of resources) {
      const sums = { limit: 0, request: 0 }
      for (const container of containers) {
        const recommended = all.find((each) => each.container === container.name)
        const amount = numberOf(
          resource,
          recommended === undefined ? container.resources?.requests?.[resource] : recommended[list]?.[resource],
        )
        sums.request += amount
        sums.limit += limitFor(container, resource, amount, bounds)
      }
      const factor = factorFor(sums, numberOf(resource, bounds.min[resource]), numberOf(resource, bounds.max[resource]))
      if (factor === undefined) continue
      const rounded = factor.isUp ? Math.ceil : Math.floor
      all = all.map((each) => changed(each, (of, amount) => (of === resource ? rounded(amount * factor.by) : amount), [list]))
    }
  }
  return all
}

function factorFor(sums: { limit: number; request: number }, min: number, max: number): { by: number; isUp: boolean } | undefined {
  if (min <= sums.limit && min <= sums.request && (max === 0 || max >= sums.limit)) return undefined
  if (sums.limit === 0 || sums.request === 0) return undefined
  if (min > sums.request) return { by: min / sums.request, isUp: true }
  return { by: (max !== 0 && max < sums.limit ? max : min) / sums.limit, isUp: false }
}

/** The limit that the container would have with this request. */
function limitFor({ resources: own }: V1Container, resource: Resource, amount: number, bounds: Bounds): number {
  const limit = numberOf(resource, own?.limits?.[resource] ?? bounds.limit[resource])
  const request = numberOf(resource, own?.requests?.[resource])
  if (limit === 0 || amount === 0) return 0
  return request === 0 || request === limit ? amount : Math.trunc((limit * amount) / request)
}

function changed(
  recommendation: ContainerRecommendation,
  change: (resource: Resource, amount: number) => number,
  of: readonly List[] = lists,
): ContainerRecommendation {
  const amounts = (list: List): Amounts | undefined => {
    const before = recommendation[list]
    if (before === undefined || !of.includes(list)) return before
    const after: Record<string, string> = { ...before }
    for (const resource of resources) {
      const text = before[resource]
      if (text === undefined) continue
      const amount = numberOf(resource, text)
      const next = change(resource, amount)
      if (next !== amount) after[resource] = textOf(resource, next)
    }
    return after
  }
  const { container, target } = recommendation
  return {
    container,
    target: amounts('target') ?? target,
    ...defined({ lowerBound: amounts('lowerBound'), upperBound: amounts('upperBound') }),
  }
}

/** What a container shall have by a recommendation: its policy and its limits have their say. */
import type {
  Amounts,
  ContainerPolicy,
  ContainerRecommendation,
  VerticalAutoscaler,
} from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import type { V1Container, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { compareQuantities, milliQuantityOf, parseQuantity } from '#api/meta/quantity.ts'

/** Within what the policy allows, and of what it controls. */
export function withinPolicy(amounts: Amounts, { minAllowed, maxAllowed, controlledResources }: ContainerPolicy): Record<string, string> {
  const capped = Object.entries(amounts)
    .filter(([resource]) => controlledResources.includes(resource))
    .map(([resource, amount]) => {
      const { [resource]: least = amount } = minAllowed
      const { [resource]: most = amount } = maxAllowed
      if (compareQuantities(amount, most) > 0) return [resource, most]
      return [resource, compareQuantities(amount, least) < 0 ? least : amount]
    })
  return Object.fromEntries(capped)
}

/** Undefined where nothing is recommended for the container, or it is left alone. */
export function recommendedFor(
  { recommendations, policyOf }: VerticalAutoscaler,
  { name, resources }: V1Container,
): (ContainerRecommendation & { target: Record<string, string> }) | undefined {
  const policy = policyOf(name)
  const found = recommendations.find(({ container }) => container === name)
  if (found === undefined || policy.mode === 'Off') return undefined
  const target = withinPolicy(found.target, policy)
  if (policy.controlsLimits) return { ...found, target }
  // A request above its limit would be refused.
  const capped = Object.entries(target).map(([resource, amount]) => {
    const limit = resources?.limits?.[resource]
    return [resource, limit !== undefined && compareQuantities(amount, limit) > 0 ? limit : amount]
  })
  return { ...found, target: Object.fromEntries(capped) as Record<string, string> }
}

/** The container's resources as recommended: limits keep their proportion to the requests where the policy says so. */
export function recommendedResources(autoscaler: VerticalAutoscaler, container: V1Container): V1ResourceRequirements | undefined {
  const recommended = recommendedFor(autoscaler, container)
  if (recommended === undefined || Object.keys(recommended.target).length === 0) return undefined
  const { requests = {}, limits } = container.resources ?? {}
  const scaled = autoscaler.policyOf(container.name).controlsLimits
    ? Object.entries(limits ?? {}).map(([resource, limit]) => [
        resource,
        proportional(limit, requests[resource], recommended.target[resource]),
      ])
    : Object.entries(limits ?? {})
  return {
    ...container.resources,
    requests: { ...requests, ...recommended.target },
    ...(limits === undefined ? {} : { limits: Object.fromEntries(scaled) as Record<string, string> }),
  }
}

function proportional(limit: string, request: string | undefined, target: string | undefined): string {
  if (target === undefined) return limit
  const was = request === undefined ? 0 : parseQuantity(request).milliValue()
  if (was === 0 || compareQuantities(limit, request ?? '0') === 0) return target
  return milliQuantityOf(Math.round((parseQuantity(limit).milliValue() * parseQuantity(target).milliValue()) / was)).toString()
}

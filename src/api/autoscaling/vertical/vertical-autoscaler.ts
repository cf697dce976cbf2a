/** A vertical autoscaler, whichever of the two forms it has. */
import type { PocVerticalPodAutoscaler, VerticalPodAutoscaler } from '#api/autoscaling/vertical/definitions.ts'
import { defined } from '#base/defined.ts'

export type Amounts = Readonly<Record<string, string>>

export type ContainerPolicy = {
  readonly mode: 'Auto' | 'Off'
  readonly minAllowed: Amounts
  readonly maxAllowed: Amounts
  readonly controlledResources: readonly string[]
  readonly controlsLimits: boolean
}

export type ContainerRecommendation = {
  readonly container: string
  readonly target: Amounts
  readonly lowerBound?: Amounts
  readonly upperBound?: Amounts
}

export type VerticalAutoscaler = {
  readonly namespace: string
  readonly name: string
  readonly mode: 'Off' | 'Initial' | 'Recreate' | 'InPlaceOrRecreate'
  readonly targetRef?: { readonly apiVersion?: string; readonly kind: string; readonly name: string }
  readonly selector?: PocVerticalPodAutoscaler['spec']['selector']
  readonly minReplicas?: number
  /** Who recommends; the default one where nobody is named. */
  readonly recommenders: readonly string[]
  readonly evictionRequirements: readonly { readonly resources: readonly string[]; readonly changeRequirement: string }[]
  readonly recommendations: readonly ContainerRecommendation[]
  policyOf(container: string): ContainerPolicy
}

const modeOf = (mode = 'Auto'): VerticalAutoscaler['mode'] => (mode === 'Auto' ? 'Recreate' : (mode as VerticalAutoscaler['mode']))

type RawPolicy = {
  mode?: 'Auto' | 'Off'
  minAllowed?: Amounts
  maxAllowed?: Amounts
  controlledResources?: readonly string[]
  controlledValues?: string
}

/** One for all (`*`) counts where a container has none of its own. */
function policies(list: readonly (RawPolicy & { name: string })[]): VerticalAutoscaler['policyOf'] {
  const byName = new Map(list.map((each) => [each.name, each]))
  return (container) => {
    const own: RawPolicy = byName.get(container) ?? byName.get('*') ?? {}
    return {
      mode: own.mode ?? 'Auto',
      minAllowed: own.minAllowed ?? {},
      maxAllowed: own.maxAllowed ?? {},
      controlledResources: own.controlledResources ?? ['cpu', 'memory'],
      controlsLimits: own.controlledValues !== 'RequestsOnly',
    }
  }
}

export function verticalAutoscalerOf({ metadata, spec, status }: VerticalPodAutoscaler): VerticalAutoscaler {
  const { minReplicas, evictionRequirements = [], updateMode } = spec.updatePolicy ?? {}
  const containerPolicies = spec.resourcePolicy?.containerPolicies ?? []
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    mode: modeOf(updateMode),
    targetRef: spec.targetRef,
    recommenders: (spec.recommenders ?? []).map(({ name }) => name),
    evictionRequirements,
    recommendations: (status?.recommendation?.containerRecommendations ?? []).map(
      ({ containerName = '', target, lowerBound, upperBound }) => ({
        ...{ container: containerName, target },
        ...defined({ lowerBound, upperBound }),
      }),
    ),
    policyOf: policies(containerPolicies.map(({ containerName = '', ...rest }) => ({ ...rest, name: containerName }))),
    ...defined({ minReplicas }),
  }
}

export function pocAutoscalerOf({ metadata, spec, status }: PocVerticalPodAutoscaler): VerticalAutoscaler {
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    mode: modeOf(spec.updatePolicy?.updateMode),
    selector: spec.selector,
    recommenders: [],
    evictionRequirements: [],
    recommendations: (status?.recommendation?.containerRecommendations ?? []).map(({ name, target, minRecommended, maxRecommended }) => ({
      ...{ container: name, target },
      ...defined({ lowerBound: minRecommended, upperBound: maxRecommended }),
    })),
    policyOf: policies((spec.resourcePolicy?.containerPolicies ?? []).map(({ name = '', ...rest }) => ({ ...rest, name }))),
  }
}

/** Rules that pod groups and the templates for them share. */
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
import { maximumError, minimumError } from '#api/meta/formats.ts'
import { longName, mustBe, qualifiedName, shortName } from '#api/meta/names.ts'
import { mustBeOneOf } from '#api/meta/union.ts'
import type { RuleContext } from '#api/resource.ts'
import type {
  V1alpha2PodGroupResourceClaim,
  V1alpha2PodGroupSchedulingConstraints,
  V1alpha2PodGroupSchedulingPolicy,
  V1alpha2PodGroupSpec,
  V1alpha2PodGroupTemplate,
} from '#api/scheduling/v1alpha2/types.gen.ts'

const maxClaims = 4
const maxTopologyConstraints = 1
const maxPriority = 1_000_000_000
const disruptionModes = ['Pod', 'PodGroup']

type Group = V1alpha2PodGroupSpec | V1alpha2PodGroupTemplate

/** Drops fields whose gate is off, unless the stored group already uses them. */
export function dropDisabledGroupFields(next: Group, prev: Group | undefined, { isEnabled }: RuleContext): void {
  if (!isEnabled('TopologyAwareWorkloadScheduling') && !prev?.schedulingConstraints) delete next.schedulingConstraints
  if (!isEnabled('DRAWorkloadResourceClaims') && !prev?.resourceClaims?.length) delete next.resourceClaims
  if (isEnabled('WorkloadAwarePreemption')) return
  if (prev?.disruptionMode === undefined) delete next.disruptionMode
  if (!prev?.priorityClassName) delete next.priorityClassName
  if (prev?.priority === undefined) delete next.priority
}

export function validateSchedulingPolicy(
  policy: V1alpha2PodGroupSchedulingPolicy | undefined,
  prev: V1alpha2PodGroupSchedulingPolicy | undefined,
  check: Check,
): void {
  mustBeOneOf(policy ?? {}, prev, ['basic', 'gang'], check)
  if (!policy?.gang) return
  const { minCount = 0 } = policy.gang
  if (minCount === 0) check.at('gang.minCount').required()
  else if (minCount < 1) check.at('gang.minCount').invalid(minCount, minimumError(1))
}

export function validateSchedulingConstraints({ topology }: V1alpha2PodGroupSchedulingConstraints, check: Check): void {
  const at = check.at('topology')
  if (topology && topology.length > maxTopologyConstraints) at.tooMany(topology.length, maxTopologyConstraints)
  else {
    each(topology, at, ({ key }, here) => {
      if (!key) here.at('key').required()
      else mustBe(qualifiedName, key, here.at('key'))
    })
  }
}

export function validateGroupClaims(claims: readonly V1alpha2PodGroupResourceClaim[] | undefined, check: Check): void {
  if (!claims) return
  if (claims.length > maxClaims) {
    check.tooMany(claims.length, maxClaims)
    return
  }
  for (const [index, claim] of claims.entries()) {
    if (claims.findIndex(({ name }) => name === claim.name) < index) check.at(index).duplicate(claim)
  }
  each(claims, check, (claim, at) => {
    mustBeOneOf(claim, undefined, ['resourceClaimName', 'resourceClaimTemplateName'], at)
    if (!claim.name) at.at('name').required()
    else mustBe(shortName, claim.name, at.at('name'))
    if (claim.resourceClaimName !== undefined) mustBe(longName, claim.resourceClaimName, at.at('resourceClaimName'))
    if (claim.resourceClaimTemplateName !== undefined) {
      mustBe(longName, claim.resourceClaimTemplateName, at.at('resourceClaimTemplateName'))
    }
  })
}

/** What comes with preemption of whole workloads. A field that may stay although its gate is off is left alone. */
export function validatePreemption({ disruptionMode, priorityClassName, priority }: Group, check: Check, { isEnabled }: RuleContext): void {
  if (!isEnabled('WorkloadAwarePreemption')) {
    if (disruptionMode !== undefined) check.at('disruptionMode').forbidden('')
    if (priorityClassName) check.at('priorityClassName').forbidden('')
    if (priority !== undefined) check.at('priority').forbidden('')
    return
  }
  if (disruptionMode !== undefined && !disruptionModes.includes(disruptionMode)) {
    check.at('disruptionMode').notSupported(disruptionMode, disruptionModes)
  }
  if (priorityClassName) mustBe(longName, priorityClassName, check.at('priorityClassName'))
  if (priority !== undefined && priority > maxPriority) check.at('priority').invalid(priority, maximumError(maxPriority))
}

/** Rules that pod groups and the templates for them share. */
import type { Check } from '#api/meta/check.ts'
import { eachRepeated } from '#api/meta/duplicates.ts'
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
  check: Check<V1alpha2PodGroupSchedulingPolicy | undefined>,
  prev: V1alpha2PodGroupSchedulingPolicy | undefined,
): void {
  const policy = check.value
  mustBeOneOf(check.with(policy ?? {}), prev, ['basic', 'gang'])
  if (!policy?.gang) return
  const { minCount = 0 } = policy.gang
  if (minCount === 0) check.at('gang').at('minCount').required()
  else if (minCount < 1) check.at('gang').at('minCount').or(0).invalid(minimumError(1))
}

export function validateSchedulingConstraints(check: Check<V1alpha2PodGroupSchedulingConstraints>): void {
  const { topology } = check.value
  const at = check.at('topology')
  if (topology && topology.length > maxTopologyConstraints) at.tooMany(topology.length, maxTopologyConstraints)
  else {
    at.each((here) => {
      const { key } = here.value
      if (!key) here.at('key').required()
      else mustBe(qualifiedName, here.at('key'))
    })
  }
}

export function validateGroupClaims(check: Check<readonly V1alpha2PodGroupResourceClaim[] | undefined>): void {
  const claims = check.value
  if (!claims) return
  if (claims.length > maxClaims) {
    check.tooMany(claims.length, maxClaims)
    return
  }
  eachRepeated(check, ({ name }) => name)
  check.each((at) => {
    const claim = at.value
    mustBeOneOf(at.with(claim), undefined, ['resourceClaimName', 'resourceClaimTemplateName'])
    if (!claim.name) at.at('name').required()
    else mustBe(shortName, at.at('name'))
    if (claim.resourceClaimName !== undefined) mustBe(longName, at.at('resourceClaimName').present)
    if (claim.resourceClaimTemplateName !== undefined) {
      mustBe(longName, at.at('resourceClaimTemplateName').present)
    }
  })
}

/** What comes with preemption of whole workloads. A field that may stay although its gate is off is left alone. */
export function validatePreemption(check: Check<Group>, { isEnabled }: RuleContext): void {
  const { disruptionMode, priorityClassName, priority } = check.value
  if (!isEnabled('WorkloadAwarePreemption')) {
    if (disruptionMode !== undefined) check.at('disruptionMode').forbidden('')
    if (priorityClassName) check.at('priorityClassName').forbidden('')
    if (priority !== undefined) check.at('priority').forbidden('')
    return
  }
  if (disruptionMode !== undefined && !disruptionModes.includes(disruptionMode)) {
    check.at('disruptionMode').notSupported(disruptionModes)
  }
  if (priorityClassName) mustBe(longName, check.at('priorityClassName').present)
  if (priority !== undefined && priority > maxPriority) check.at('priority').invalid(maximumError(maxPriority))
}

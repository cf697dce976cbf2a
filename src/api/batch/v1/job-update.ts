/** What of a job's spec may change once it exists. */

import { hasCondition } from '#api/batch/v1/job-status.ts'
import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job, V1JobSpec } from '#api/batch/v1/types.gen.ts'
import type { V1Container, V1PodSpec, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import type { RuleContext } from '#api/resource.ts'

const sameSpec = equalityOf(Job).at('spec')
const sameResources = sameSpec.at('template').at('spec').at('containers').each.at('resources')

/** `check` stands at the spec. */
export function validateJobUpdate(next: V1Job, prev: V1Job, check: Check<V1JobSpec>, context: RuleContext): void {
  validateCompletions(check, prev.spec)
  mustNotChange(check.at('selector'), prev.spec.selector, sameSpec.at('selector'), '*meta.LabelSelector')
  validateTemplate(next, prev, check, context)
  mustNotChange(check.at('completionMode'), prev.spec.completionMode)
  mustNotChange(check.at('podFailurePolicy'), prev.spec.podFailurePolicy, sameSpec.at('podFailurePolicy'), '*batch.PodFailurePolicy')
  mustNotChange(check.at('backoffLimitPerIndex'), prev.spec.backoffLimitPerIndex)
  mustNotChange(check.at('managedBy'), prev.spec.managedBy)
  mustNotChange(check.at('successPolicy'), prev.spec.successPolicy, sameSpec.at('successPolicy'), '*batch.SuccessPolicy')
}

/** Indexed jobs are elastic: their size may change, completions and parallelism together. */
function validateCompletions(check: Check<V1JobSpec>, prev: V1JobSpec): void {
  const next = check.value
  if (next.completionMode !== 'Indexed') {
    mustNotChange(check.at('completions'), prev.completions)
    return
  }
  if (next.completions === undefined || next.completions === prev.completions || next.completions === next.parallelism) return
  check.at('completions').invalid('can only be modified in tandem with spec.parallelism')
}

function validateTemplate(next: V1Job, prev: V1Job, check: Check<V1JobSpec>, { isEnabled }: RuleContext): void {
  const { suspend } = prev.spec
  const { startTime, active = 0 } = prev.status ?? {}
  const hasNoPods = suspend === true && (!startTime || hasCondition(prev.status, 'Suspended')) && active === 0
  const mayMove = isEnabled('MutableSchedulingDirectivesForSuspendedJobs') ? hasNoPods : suspend === true && !startTime
  const mayResize = hasNoPods && isEnabled('MutablePodResourcesForSuspendedJobs')
  const { template } = next.spec
  const allowed = mayMove ? withSchedulingOf(template, prev.spec.template) : prev.spec.template
  if (!mayResize) {
    mustNotChange(check.at('template'), allowed, sameSpec.at('template'), 'core.PodTemplateSpec')
    return
  }
  const podSpec = template.spec ?? { containers: [] }
  mustNotChange(
    check.at('template').at('spec').with(podSpec),
    withResourcesOf(podSpec, allowed.spec ?? { containers: [] }),
    sameSpec.at('template').at('spec'),
    'core.PodSpec',
  )
}

/** The old template, but with everything of the next one that tells the scheduler where pods go. */
function withSchedulingOf(next: V1PodTemplateSpec, prev: V1PodTemplateSpec): V1PodTemplateSpec {
  const { nodeSelector, tolerations, schedulingGates, affinity } = next.spec ?? {}
  const { nodeAffinity: _nodeAffinity, ...otherAffinity } = prev.spec?.affinity ?? {}
  const mixedAffinity = affinity?.nodeAffinity ? { ...otherAffinity, nodeAffinity: affinity.nodeAffinity } : otherAffinity
  const hasAffinity = affinity !== undefined || Object.keys(otherAffinity).length > 0
  const spec = { ...prev.spec, nodeSelector, tolerations, schedulingGates, affinity: hasAffinity ? mixedAffinity : undefined }
  const metadata = { ...prev.metadata, annotations: next.metadata?.annotations, labels: next.metadata?.labels }
  return { ...prev, metadata, spec } as V1PodTemplateSpec
}

function withResourcesOf(next: V1PodSpec, prev: V1PodSpec): V1PodSpec {
  const mixed = { ...prev, containers: containersWithResourcesOf(next.containers, prev.containers) }
  if (prev.initContainers) mixed.initContainers = containersWithResourcesOf(next.initContainers, prev.initContainers)
  return mixed
}

function containersWithResourcesOf(next: readonly V1Container[] = [], prev: readonly V1Container[] = []): V1Container[] {
  if (next.length !== prev.length) return [...prev]
  return prev.map((container, index) => {
    const counterpart = next[index]
    if (counterpart?.name !== container.name || sameResources(counterpart.resources, container.resources)) return container
    const { resources: _resources, ...rest } = container
    return counterpart.resources ? { ...rest, resources: counterpart.resources } : rest
  })
}

import type { V2HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.ts'
import type { V1LimitRange, V1ResourceQuota } from '#api/core/v1/types.gen.ts'
import { labelSelectorText } from '#api/meta/selector.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import type { V1PriorityClass } from '#api/scheduling/v1/types.gen.ts'
import type { ApiObject } from '#cli/call.ts'
import { describeBehavior, describeMetric } from './autoscaler-metrics.ts'
import { type Description, rfc1123 } from './description.ts'

export function describeQuota(out: Description, object: ApiObject): void {
  const { metadata, spec, status } = object as unknown as V1ResourceQuota
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  if ((spec?.scopes ?? []).length > 0) {
    out.field(0, 'Scopes', (spec?.scopes ?? []).toSorted().join(', '))
    for (const scope of (spec?.scopes ?? []).toSorted()) out.write(0, ` * ${scopeHelp[scope] ?? ''}\n`)
  }
  out.write(0, 'Resource\tUsed\tHard\n--------\t----\t----\n')
  for (const name of Object.keys(status?.hard ?? {}).sort())
    out.write(0, `${name}\t${status?.used?.[name] ?? '0'}\t${status?.hard?.[name]}\n`)
}

const scopeHelp: Readonly<Record<string, string>> = {
  Terminating:
    'Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being actively terminated by the system.',
  NotTerminating:
    'Matches all pods that do not have an active deadline. These pods usually include long running pods whose container command is not expected to terminate.',
  BestEffort: 'Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.',
  NotBestEffort:
    'Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed quality of service.',
}

/** As namespaces show them. */
export function writeQuotas(out: Description, quotas: readonly V1ResourceQuota[]): void {
  if (quotas.length === 0) {
    out.write(0, 'No resource quota.\n')
    return
  }
  out.write(0, 'Resource Quotas\n')
  for (const { metadata, spec, status } of quotas.toSorted((one, other) =>
    (one.metadata?.name ?? '') < (other.metadata?.name ?? '') ? -1 : 1,
  )) {
    out.write(1, `Name:\t${metadata?.name}\n`)
    if ((spec?.scopes ?? []).length > 0) {
      out.write(1, `Scopes:\t${(spec?.scopes ?? []).toSorted().join(', ')}\n`)
      for (const scope of (spec?.scopes ?? []).toSorted()) out.write(1, `* ${scopeHelp[scope] ?? ''}\n`)
    }
    out.write(1, 'Resource\tUsed\tHard\n')
    out.write(1, '--------\t---\t---\n')
    for (const name of Object.keys(status?.hard ?? {}).sort())
      out.write(1, `${name}\t${status?.used?.[name] ?? '0'}\t${status?.hard?.[name]}\n`)
  }
}

export function describeLimitRange(out: Description, object: ApiObject): void {
  const range = object as unknown as V1LimitRange
  out.field(0, 'Name', range.metadata?.name)
  out.field(0, 'Namespace', range.metadata?.namespace)
  writeLimitTable(out, range, 0)
}

export function writeLimits(out: Description, ranges: readonly V1LimitRange[]): void {
  if (ranges.length === 0) {
    out.write(0, 'No LimitRange resource.\n')
    return
  }
  out.write(0, 'Resource Limits\n')
  out.write(1, 'Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n')
  out.write(1, '----\t--------\t---\t---\t---------------\t-------------\t-----------------------\n')
  for (const range of ranges) writeLimitRows(out, range, 1)
}

function writeLimitTable(out: Description, range: V1LimitRange, level: number): void {
  out.write(level, 'Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n')
  out.write(level, '----\t--------\t---\t---\t---------------\t-------------\t-----------------------\n')
  writeLimitRows(out, range, level)
}

function writeLimitRows(out: Description, { spec }: V1LimitRange, level: number): void {
  for (const { type, min, max, defaultRequest, default: initial, maxLimitRequestRatio } of spec?.limits ?? []) {
    const all = [min, max, defaultRequest, initial, maxLimitRequestRatio]
    for (const name of new Set(all.flatMap((each) => Object.keys(each ?? {})).toSorted()))
      out.write(level, `${type}\t${name}\t${all.map((each) => each?.[name] ?? '-').join('\t')}\n`)
  }
}

export function describeAutoscaler(out: Description, object: ApiObject): void {
  const { metadata, spec, status } = object as unknown as V2HorizontalPodAutoscaler
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'CreationTimestamp', rfc1123(metadata?.creationTimestamp))
  out.field(0, 'Reference', `${spec?.scaleTargetRef.kind}/${spec?.scaleTargetRef.name}`)
  out.field(0, 'Metrics', '( current / target )')
  for (const [index, metric] of (spec?.metrics ?? []).entries()) describeMetric(out, metric, status?.currentMetrics?.[index])
  out.field(0, 'Min replicas', spec?.minReplicas ?? '<unset>')
  out.field(0, 'Max replicas', spec?.maxReplicas)
  describeBehavior(out, spec?.behavior)
  const kind = spec?.scaleTargetRef.kind ?? ''
  out.field(0, `${kind} pods`, `${status?.currentReplicas ?? 0} current / ${status?.desiredReplicas ?? 0} desired`)
  if ((status?.conditions ?? []).length === 0) return
  out.write(0, 'Conditions:\n')
  out.write(1, 'Type\tStatus\tReason\tMessage\n')
  out.write(1, '----\t------\t------\t-------\n')
  for (const { type, status: value, reason = '', message = '' } of status?.conditions ?? [])
    out.write(1, `${type}\t${value}\t${reason}\t${message}\n`)
}

export function describeBudget(out: Description, object: ApiObject): void {
  const { metadata, spec, status } = object as unknown as V1PodDisruptionBudget
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  if (spec?.minAvailable !== undefined) out.field(0, 'Min available', spec.minAvailable)
  else if (spec?.maxUnavailable !== undefined) out.field(0, 'Max unavailable', spec.maxUnavailable)
  out.field(0, 'Selector', spec?.selector === undefined ? '<unset>' : labelSelectorText(spec.selector))
  out.write(0, 'Status:\n')
  out.field(2, 'Allowed disruptions', status?.disruptionsAllowed ?? 0)
  out.field(2, 'Current', status?.currentHealthy ?? 0)
  out.field(2, 'Desired', status?.desiredHealthy ?? 0)
  out.field(2, 'Total', status?.expectedPods ?? 0)
}

export function describePriorityClass(out: Description, object: ApiObject): void {
  const { metadata, value, globalDefault = false, preemptionPolicy, description = '' } = object as unknown as V1PriorityClass
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Value', value)
  out.field(0, 'GlobalDefault', globalDefault)
  out.field(0, 'PreemptionPolicy', preemptionPolicy)
  out.field(0, 'Description', description)
  const pairs = Object.keys(metadata?.annotations ?? {})
    .sort()
    .map((key) => `${key}=${metadata?.annotations?.[key]}`)
  out.field(0, 'Annotations', pairs.length === 0 ? '<none>' : pairs.join(','))
}

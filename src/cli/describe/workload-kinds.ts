import type { V1DaemonSet, V1Deployment, V1ReplicaSet, V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import type { V1CronJob, V1Job } from '#api/batch/v1/types.gen.ts'
import type { V1Pod, V1ReplicationController } from '#api/core/v1/types.gen.ts'
import { humanDuration } from '#api/meta/human-duration.ts'
import { labelSelectorFrom, labelSelectorText } from '#api/meta/selector.ts'
import type { V1LabelSelector, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { controllerOf, type Description, rfc1123, trueOrFalse } from './description.ts'
import { writePodTemplate } from './pod-template.ts'

const selectorText = (selector: V1LabelSelector | undefined): string => String(labelSelectorFrom(selector))
const labelsLine = (labels: Readonly<Record<string, string>> | undefined): string => {
  const pairs = Object.keys(labels ?? {})
    .sort()
    .map((key) => `${key}=${labels?.[key]}`)
  return pairs.length === 0 ? '<none>' : pairs.join(',')
}

export async function describeDeployment(out: Description, object: ApiObject, call: Call): Promise<void> {
  const { metadata, spec, status = {} } = object as unknown as V1Deployment
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.field(0, 'CreationTimestamp', rfc1123(metadata?.creationTimestamp))
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'Selector', selectorText(spec?.selector))
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, unavailableReplicas = 0 } = status
  out.field(
    0,
    'Replicas',
    `${spec?.replicas ?? 0} desired | ${updatedReplicas} updated | ${replicas} total | ${availableReplicas} available | ${unavailableReplicas} unavailable`,
  )
  out.field(0, 'StrategyType', spec?.strategy?.type ?? '')
  out.field(0, 'MinReadySeconds', spec?.minReadySeconds ?? 0)
  const rolling = spec?.strategy?.rollingUpdate
  if (rolling !== undefined)
    out.field(0, 'RollingUpdateStrategy', `${rolling.maxUnavailable} max unavailable, ${rolling.maxSurge} max surge`)
  writePodTemplate(out, spec?.template)
  describeConditions(out, status.conditions)
  await describeReplicaSets(out, object, call)
}

function describeConditions(out: Description, conditions: readonly { type: string; status: string; reason?: string }[] | undefined): void {
  if (conditions === undefined || conditions.length === 0) return
  out.write(0, 'Conditions:\n  Type\tStatus\tReason\n')
  out.write(1, '----\t------\t------\n')
  for (const { type, status, reason = '' } of conditions) out.write(1, `${type} \t${status}\t${reason}\n`)
}

async function describeReplicaSets(out: Description, object: ApiObject, { session }: Call): Promise<void> {
  const { metadata, spec } = object as unknown as V1Deployment
  const rest = await session.rest
  const list = await rest.json<{ items: V1ReplicaSet[] }>({
    path: `/apis/apps/v1/namespaces/${metadata?.namespace}/replicasets`,
    query: { labelSelector: selectorText(spec?.selector), limit: 500 },
  })
  const owned = list.items.filter((each) =>
    each.metadata?.ownerReferences?.some(({ uid, controller }) => controller && uid === metadata?.uid),
  )
  if (owned.length === 0) return
  const revision = ({ metadata: meta }: { metadata?: V1ObjectMeta }) =>
    Number(meta?.annotations?.['deployment.kubernetes.io/revision'] ?? 0)
  const newest = owned.toSorted((one, other) => revision(other) - revision(one))[0]
  const isNew = (each: V1ReplicaSet) => each === newest && revision(each) === revision({ ...defined({ metadata }) })
  const text = (sets: readonly V1ReplicaSet[]) =>
    sets.length === 0
      ? '<none>'
      : sets.map((each) => `${each.metadata?.name} (${each.status?.replicas ?? 0}/${each.spec?.replicas ?? 0} replicas created)`).join(', ')
  out.field(0, 'OldReplicaSets', text(owned.filter((each) => !isNew(each))))
  out.field(0, 'NewReplicaSet', text(owned.filter(isNew)))
}

async function podCounts({ session }: Call, metadata: V1ObjectMeta | undefined, selector: string): Promise<string> {
  const rest = await session.rest
  const { items } = await rest.json<{ items: V1Pod[] }>({
    path: `/api/v1/namespaces/${metadata?.namespace}/pods`,
    query: { labelSelector: selector, limit: 500 },
  })
  const count = (phase: string) =>
    items.filter(
      (pod) =>
        pod.status?.phase === phase && pod.metadata?.ownerReferences?.some(({ uid, controller }) => controller && uid === metadata?.uid),
    ).length
  return `${count('Running')} Running / ${count('Pending')} Waiting / ${count('Succeeded')} Succeeded / ${count('Failed')} Failed`
}

export function describeReplicaSet(out: Description, object: ApiObject, call: Call): Promise<void> {
  const { spec } = object as unknown as V1ReplicaSet
  return describeReplicas(out, object, { shown: labelSelectorText(spec?.selector), sent: selectorText(spec?.selector) }, call)
}

export function describeReplicationController(out: Description, object: ApiObject, call: Call): Promise<void> {
  const labels = labelsLine((object as unknown as V1ReplicationController).spec?.selector)
  return describeReplicas(out, object, { shown: labels, sent: labels }, call)
}

async function describeReplicas(out: Description, object: ApiObject, selector: { shown: string; sent: string }, call: Call): Promise<void> {
  const { kind, metadata, spec, status } = object as unknown as V1ReplicaSet
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.field(0, 'Selector', selector.shown)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  const owner = kind === 'ReplicaSet' ? controllerOf(metadata) : ''
  if (owner !== '') out.field(0, 'Controlled By', owner)
  out.field(0, 'Replicas', `${status?.replicas ?? 0} current / ${spec?.replicas ?? 0} desired`)
  out.field(0, 'Pods Status', await podCounts(call, metadata, selector.sent))
  writePodTemplate(out, spec?.template)
  describeConditions(out, status?.conditions)
}

export async function describeStatefulSet(out: Description, object: ApiObject, call: Call): Promise<void> {
  const { metadata, spec, status } = object as unknown as V1StatefulSet
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.field(0, 'CreationTimestamp', rfc1123(metadata?.creationTimestamp))
  out.field(0, 'Selector', selectorText(spec?.selector))
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'Replicas', `${spec?.replicas ?? 0} desired | ${status?.replicas ?? 0} total`)
  out.field(0, 'Update Strategy', spec?.updateStrategy?.type ?? '')
  const rolling = spec?.updateStrategy?.rollingUpdate
  if (rolling?.partition !== undefined) {
    out.field(1, 'Partition', rolling.partition)
    if (rolling.maxUnavailable !== undefined) out.field(1, 'MaxUnavailable', rolling.maxUnavailable)
  }
  out.field(0, 'Pods Status', await podCounts(call, metadata, selectorText(spec?.selector)))
  writePodTemplate(out, spec?.template)
  const claims = spec?.volumeClaimTemplates ?? []
  if (claims.length === 0) out.field(0, 'Volume Claims', '<none>')
  else out.write(0, 'Volume Claims:\n')
  for (const claim of claims) {
    out.write(1, `Name:\t${claim.metadata?.name}\n`)
    out.write(1, `StorageClass:\t${claim.spec?.storageClassName ?? ''}\n`)
    out.labels('  Labels', claim.metadata?.labels)
    // Written as labels are, unlike all other annotations.
    out.labels('  Annotations', claim.metadata?.annotations)
    out.write(1, `Capacity:\t${claim.spec?.resources?.requests?.['storage'] ?? '<default>'}\n`)
    out.write(1, `Access Modes:\t[${(claim.spec?.accessModes ?? []).join(' ')}]\n`)
  }
}

export async function describeDaemonSet(out: Description, object: ApiObject, call: Call): Promise<void> {
  const { metadata, spec, status } = object as unknown as V1DaemonSet
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.field(0, 'Selector', selectorText(spec?.selector))
  out.field(0, 'Node-Selector', labelsLine(spec?.template.spec?.nodeSelector))
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.write(0, `Desired Number of Nodes Scheduled: ${status?.desiredNumberScheduled ?? 0}\n`)
  out.write(0, `Current Number of Nodes Scheduled: ${status?.currentNumberScheduled ?? 0}\n`)
  out.write(0, `Number of Nodes Scheduled with Up-to-date Pods: ${status?.updatedNumberScheduled ?? 0}\n`)
  out.write(0, `Number of Nodes Scheduled with Available Pods: ${status?.numberAvailable ?? 0}\n`)
  out.write(0, `Number of Nodes Misscheduled: ${status?.numberMisscheduled ?? 0}\n`)
  out.field(0, 'Pods Status', await podCounts(call, metadata, selectorText(spec?.selector)))
  writePodTemplate(out, spec?.template)
}

export function describeJob(out: Description, object: ApiObject): void {
  const { metadata, spec, status } = object as unknown as V1Job
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.field(0, 'Selector', selectorText(spec?.selector))
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  const owner = controllerOf(metadata)
  if (owner !== '') out.field(0, 'Controlled By', owner)
  out.optional(0, 'Parallelism', spec?.parallelism)
  out.field(0, 'Completions', spec?.completions ?? '<unset>')
  out.optional(0, 'Completion Mode', spec?.completionMode)
  out.optional(0, 'Suspend', spec?.suspend)
  out.optional(0, 'Backoff Limit', spec?.backoffLimit)
  out.optional(0, 'TTL Seconds After Finished', spec?.ttlSecondsAfterFinished)
  const { startTime, completionTime } = status ?? {}
  if (startTime) out.field(0, 'Start Time', rfc1123(startTime))
  if (completionTime) out.field(0, 'Completed At', rfc1123(completionTime))
  if (startTime && completionTime) out.field(0, 'Duration', humanDuration(Date.parse(completionTime) - Date.parse(startTime)))
  if (spec?.activeDeadlineSeconds !== undefined) out.field(0, 'Active Deadline Seconds', `${spec.activeDeadlineSeconds}s`)
  const ready = status?.ready === undefined ? '' : ` (${status.ready} Ready)`
  out.field(
    0,
    'Pods Statuses',
    `${status?.active ?? 0} Active${ready} / ${status?.succeeded ?? 0} Succeeded / ${status?.failed ?? 0} Failed`,
  )
  if (spec?.completionMode === 'Indexed') out.field(0, 'Completed Indexes', status?.completedIndexes || '<none>')
  writePodTemplate(out, spec?.template)
}

export function describeCronJob(out: Description, object: ApiObject): void {
  const { metadata, spec, status } = object as unknown as V1CronJob
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'Schedule', spec?.schedule)
  out.field(0, 'Concurrency Policy', spec?.concurrencyPolicy)
  out.field(0, 'Suspend', spec?.suspend === undefined ? '<unset>' : trueOrFalse(spec.suspend))
  out.field(0, 'Time Zone', spec?.timeZone ?? '<unset>')
  out.field(0, 'Successful Job History Limit', spec?.successfulJobsHistoryLimit ?? '<unset>')
  out.field(0, 'Failed Job History Limit', spec?.failedJobsHistoryLimit ?? '<unset>')
  out.field(0, 'Starting Deadline Seconds', spec?.startingDeadlineSeconds === undefined ? '<unset>' : `${spec.startingDeadlineSeconds}s`)
  const job = spec?.jobTemplate.spec
  out.field(0, 'Selector', job?.selector === undefined ? '<unset>' : selectorText(job.selector))
  out.field(0, 'Parallelism', job?.parallelism ?? '<unset>')
  out.field(0, 'Completions', job?.completions ?? '<unset>')
  if (job?.activeDeadlineSeconds !== undefined) out.field(0, 'Active Deadline Seconds', `${job.activeDeadlineSeconds}s`)
  writePodTemplate(out, job?.template)
  out.field(0, 'Last Schedule Time', status?.lastScheduleTime ? rfc1123(status.lastScheduleTime) : '<unset>')
  const active = (status?.active ?? []).map(({ name }) => name)
  out.field(0, 'Active Jobs', active.length === 0 ? '<none>' : active.join(', '))
}

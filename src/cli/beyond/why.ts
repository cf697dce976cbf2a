/** `tn why`: one answer out of conditions, events, containers, quota and endpoints. */
import type { V1ContainerStatus, V1Event, V1PersistentVolumeClaim, V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { labelsText } from '#api/meta/selector.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { lastSeen } from '#cli/commands/events.ts'
import { eventsOf } from '#cli/describe/events.ts'
import { printerFor } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoText } from '#cli/resources/info.ts'
import { type Owned, ownedObjects, readinessOf } from './owners.ts'

export type Answer = { object: string; healthy: boolean; reasons: string[]; hints: string[] }

export async function why(call: Call): Promise<void> {
  const { args, host } = call
  const { infos } = await findInfos(call, { args: args.length === 1 && !args[0]?.includes('/') ? ['pods', ...args] : args })
  const [info] = infos
  if (info === undefined) throw new CliError('why answers for one object: name it as POD or TYPE/NAME')
  const answer = await answerFor(call, info)
  const printer = await printerFor(call, { formats: ['json', 'yaml'] })
  if (printer !== undefined) return host.write(printer(answer as unknown as ApiObject))
  host.write(`${answer.object} ${answer.healthy ? 'is as it should be' : 'is not ready'}${answer.reasons.length > 0 ? ':' : '.'}\n`)
  for (const reason of answer.reasons) host.write(`  - ${reason}\n`)
  for (const hint of answer.hints) host.write(`Try: ${hint}\n`)
}

async function answerFor(call: Call, info: Info): Promise<Answer> {
  const answer: Answer = { object: infoText(info), healthy: true, reasons: [], hints: [] }
  const say = (...reasons: string[]) => {
    answer.healthy = false
    for (const reason of reasons) if (reason !== '' && !answer.reasons.includes(reason)) answer.reasons.push(reason)
  }
  const { object } = info
  if (object.metadata?.deletionTimestamp) {
    const finalizers = object.metadata.finalizers ?? []
    say(
      `it is being deleted since ${object.metadata.deletionTimestamp}`,
      finalizers.length > 0 ? `it waits for ${finalizers.join(', ')} to let go of it` : '',
    )
  }
  if (info.type.kind === 'Pod') podReasons(object as unknown as V1Pod, say)
  else if (info.type.kind === 'Service') await serviceReasons(call, object as unknown as V1Service, say)
  else if (info.type.kind === 'PersistentVolumeClaim') claimReasons(object as unknown as V1PersistentVolumeClaim, say)
  else await ownerReasons(call, info, say)
  if (!answer.healthy) for (const text of await warnings(call, object)) say(text)
  if (!answer.healthy) answer.hints.push(`kubectl describe ${infoText(info)}${info.namespace === '' ? '' : ` -n ${info.namespace}`}`)
  return answer
}

type Say = (...reasons: string[]) => void

function podReasons({ metadata, spec, status }: V1Pod, say: Say): void {
  const conditions = status?.conditions ?? []
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') say(`it is not scheduled: ${scheduled.message ?? scheduled.reason ?? ''}`)
  else if (!spec?.nodeName) say('no scheduler has looked at it yet')
  if (status?.reason) say(`${status.reason}: ${status.message ?? ''}`)
  for (const [what, each] of [
    ...(status?.initContainerStatuses ?? []).map((each) => ['init container', each] as const),
    ...(status?.containerStatuses ?? []).map((each) => ['container', each] as const),
  ])
    containerReasons(what, each, say)
  const ready = conditions.find(({ type }) => type === 'Ready')
  if (status?.phase === 'Running' && ready?.status === 'False' && ready.reason) say(`${ready.reason}: ${ready.message ?? ''}`)
  for (const { conditionType } of spec?.readinessGates ?? [])
    if (conditions.find(({ type }) => type === conditionType)?.status !== 'True') say(`its readiness gate ${conditionType} is not met`)
  void metadata
}

function containerReasons(what: string, { name, state, lastState, restartCount, ready }: V1ContainerStatus, say: Say): void {
  if (state?.waiting !== undefined && state.waiting.reason !== 'PodInitializing')
    say(`${what} ${name} waits: ${state.waiting.reason ?? ''}${state.waiting.message ? ` (${state.waiting.message})` : ''}`)
  const ended = state?.terminated ?? (ready ? undefined : lastState?.terminated)
  if (ended !== undefined && ended.exitCode !== 0)
    say(
      `${what} ${name} ended with exit code ${ended.exitCode}${ended.reason ? ` (${ended.reason})` : ''}${restartCount > 0 ? `, restarted ${restartCount} times` : ''}${ended.message ? `: ${ended.message.trim()}` : ''}`,
    )
}

async function serviceReasons({ session }: Call, { metadata, spec }: V1Service, say: Say): Promise<void> {
  const rest = await session.rest
  const { items } = await rest.json<{ items: V1EndpointSlice[] }>({
    path: `/apis/discovery.k8s.io/v1/namespaces/${metadata?.namespace}/endpointslices`,
    query: { labelSelector: `kubernetes.io/service-name=${metadata?.name}` },
  })
  const endpoints = items.flatMap((slice) => slice.endpoints ?? [])
  if (endpoints.some(({ conditions }) => conditions?.ready !== false)) return
  const selector = labelsText(spec?.selector)
  if (Object.keys(spec?.selector ?? {}).length === 0) {
    if (spec?.type !== 'ExternalName') say('it selects no pods, and nobody has made endpoints for it')
    return
  }
  const pods = (
    await rest.json<{ items: V1Pod[] }>({ path: `/api/v1/namespaces/${metadata?.namespace}/pods`, query: { labelSelector: selector } })
  ).items
  if (pods.length === 0) say(`no pod of the namespace has the labels ${selector}`)
  else say(`none of its ${pods.length} pods is ready`)
  for (const pod of pods.slice(0, 3))
    podReasons(pod, (...reasons) => say(...reasons.map((reason) => `pod ${pod.metadata?.name}: ${reason}`)))
}

function claimReasons({ spec, status }: V1PersistentVolumeClaim, say: Say): void {
  if (status?.phase === 'Bound') return
  say(
    `it is ${status?.phase ?? 'Pending'}, and asks for ${spec?.resources?.requests?.['storage'] ?? 'no amount'} of class ${spec?.storageClassName ?? '(the default one)'}`,
  )
}

/** What an object says of itself, then what it owns, down to the pods. */
async function ownerReasons(call: Call, info: Info, say: Say): Promise<void> {
  const { ready, reason } = readinessOf(info.object)
  const conditions = (
    (info.object['status'] as { conditions?: { type: string; status: string; reason?: string; message?: string }[] } | undefined)
      ?.conditions ?? []
  ).filter(
    ({ type, status }) =>
      (status === 'False' && ['Ready', 'Available', 'Progressing', 'Established', 'NamesAccepted'].includes(type)) ||
      (status === 'True' && ['ReplicaFailure', 'Failed', 'Degraded'].includes(type)),
  )
  if (ready === 'False') say(reason === '' ? 'it is not ready' : `it says ${reason}`)
  for (const each of conditions) say(`${each.type} is ${each.status}: ${each.message ?? each.reason ?? ''}`)
  if (ready !== 'False' && conditions.length === 0) return
  const owned = await ownedObjects(call, info.namespace)
  const below = (uid: string): Owned[] => (owned.get(uid) ?? []).flatMap((each) => [each, ...below(each.object.metadata?.uid ?? '')])
  const parts = below(info.object.metadata?.uid ?? '')
  for (const { object, type } of parts) {
    if (type.kind === 'Pod')
      podReasons(object as unknown as V1Pod, (...reasons) => say(...reasons.map((each) => `pod ${object.metadata?.name}: ${each}`)))
    else if (type.kind === 'ReplicaSet')
      for (const text of await warnings(call, object)) say(`replica set ${object.metadata?.name}: ${text}`)
  }
}

/** The last words of each kind of warning. */
async function warnings(call: Call, object: ApiObject): Promise<string[]> {
  const events = ((await eventsOf(call, object)) ?? [])
    .filter(({ type }) => type === 'Warning')
    .toSorted((one: V1Event, other: V1Event) => lastSeen(other) - lastSeen(one))
  const seen = new Set<string>()
  return events.flatMap(({ reason = '', message = '', count = 1 }) => {
    if (seen.has(reason) || seen.size >= 3) return []
    seen.add(reason)
    return [`${reason}${count > 1 ? ` (${count} times)` : ''}: ${message.trim()}`]
  })
}

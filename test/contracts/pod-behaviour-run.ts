/** Acts behaviours out on a stage: a kubelet over some runtime, in virtual or in real time. */
import assert from 'node:assert/strict'
import { Event, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1ContainerStatus, V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import { compareQuantities } from '#api/meta/quantity.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'
import type { Act, ActedContainer, Expectation, PodBehaviour, Resize } from './pod-behaviours.ts'
import type { RuntimeRecord } from './recording-runtime.ts'

export type Stage = {
  readonly client: Client
  readonly namespace: string
  /** What the runtime was really asked for. */
  readonly record: RuntimeRecord
  /** The container as the runtime's own kind of actor, and what the pod needs for it. */
  actor(
    container: ActedContainer,
    isInit: boolean,
  ): { container: V1Pod['spec']['containers'][number]; annotations?: Record<string, string> }
  /** Another image that does the same. */
  readonly otherImage: string
  now(): number
  /** Lets time pass; true as soon as the condition holds, false when the time is over. */
  passes(ms: number, until: () => Promise<boolean>): Promise<boolean>
  killSandbox(podUid: string): Promise<void>
  /** Whether the runtime still has something of the pod. */
  holds(podUid: string): Promise<boolean>
  /** What is to happen happens while there is none. */
  restartAgent(meanwhile: () => Promise<void>): Promise<void>
  /** Where things go wrong on purpose, everything takes longer, and events and orders are not to be relied upon. */
  readonly isRough?: boolean
  /** How many times longer than in a simulation things may take. */
  readonly patience?: number
  /** All that was ever told of the pod: who looks now and then may miss what holds for a moment. */
  told?(uid: string): readonly V1Pod[]
}

const usualWithinMs = 30_000
const roughness = 20

export async function actOut(behaviour: PodBehaviour, stage: Stage): Promise<void> {
  const name = behaviour.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/-$/, '')
  const made = await stage.client.create(Pod, podOf(behaviour, name, stage))
  const { uid = '' } = made.metadata
  const play: Play = { stage, name, uid, deletedMs: undefined }
  for (const [index, act] of behaviour.acts.entries()) {
    try {
      await perform(act, play)
    } catch (error) {
      const problem = error instanceof Error ? error : new Error(String(error))
      problem.message = `act ${index + 1} (${JSON.stringify(act)}): ${problem.message}`
      throw problem
    }
  }
  stage.record.validate(uid)
}

type Play = { stage: Stage; name: string; uid: string; deletedMs: number | undefined }

function podOf(
  { restartPolicy, graceSeconds, deadlineSeconds, nodeSelector, init = [], containers }: PodBehaviour,
  name: string,
  stage: Stage,
): V1Pod {
  const inits = init.map((container) => stage.actor(container, true))
  const apps = containers.map((container) => stage.actor(container, false))
  return {
    metadata: {
      name,
      namespace: stage.namespace,
      annotations: Object.assign({}, ...[...inits, ...apps].map(({ annotations }) => annotations)),
    },
    spec: {
      ...{ nodeName: 'n1', containers: apps.map(({ container }) => container) },
      ...(inits.length > 0 ? { initContainers: inits.map(({ container }) => container) } : {}),
      ...(restartPolicy === undefined ? {} : { restartPolicy }),
      ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
      ...(deadlineSeconds === undefined ? {} : { activeDeadlineSeconds: deadlineSeconds }),
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
    },
  }
}

async function perform(act: Act, play: Play): Promise<void> {
  const { stage, name, uid } = play
  const { client, namespace, record, isRough } = stage
  const place = { namespace, name }
  if ('until' in act) {
    const withinMs = (act.withinMs ?? usualWithinMs) * (isRough ? roughness : (stage.patience ?? 1))
    let last: V1Pod | undefined
    const holds = await stage.passes(withinMs, async () => {
      last = await find(stage, name)
      return differences(act.until, last).length === 0
    })
    if (holds && act.until.gone) assert.ok(await stage.passes(withinMs, async () => !(await stage.holds(uid))), 'something of it is left')
    if (!holds) assert.fail(`${differences(act.until, last).join('; ')}; ${summary(last)}`)
  } else if ('meanwhile' in act) {
    if (isRough) return
    if (stage.told === undefined) return perform({ until: act.meanwhile }, play)
    const wasTold = () => stage.told?.(uid).some((pod) => differences(act.meanwhile, pod).length === 0) ?? false
    const holds = await stage.passes(usualWithinMs * (stage.patience ?? 1), async () => wasTold())
    assert.ok(holds, `it never was so: ${stage.told(uid).map(summary).join(', then ')}`)
  } else if ('stays' in act) {
    if (isRough) {
      await stage.passes(act.forMs, async () => false)
      return
    }
    // In real time it may have begun long before it was seen.
    const forMs = stage.patience === undefined ? act.forMs : Math.min(act.forMs, 2000)
    const breaks = await stage.passes(forMs, async () => differences(act.stays, await find(stage, name)).length > 0)
    if (breaks) assert.fail(`${differences(act.stays, await find(stage, name)).join('; ')}`)
  } else if ('deletes' in act) {
    const { graceSeconds } = act.deletes
    play.deletedMs = stage.now()
    await client.delete(Pod, place, { uid, ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }) })
  } else if ('goneAfterMs' in act) {
    const tookMs = stage.now() - (play.deletedMs ?? 0)
    const [least, most] = act.goneAfterMs
    assert.ok(tookMs >= least && (isRough || tookMs <= most * (stage.patience ?? 1)), `it took ${tookMs} ms`)
  } else if ('restartsAgent' in act) {
    const { resizes } = act
    await stage.restartAgent(async () => {
      if (resizes !== undefined) await resize(play, resizes)
    })
  } else if ('resizes' in act) {
    await resize(play, act.resizes)
  } else if ('occupies' in act) {
    await occupy(play, act.occupies)
  } else if ('changesImage' in act) {
    await client.patch(Pod, place, { spec: { containers: [{ name: act.changesImage, image: stage.otherImage }] } })
  } else if ('debugs' in act) {
    const { container, annotations = {} } = stage.actor({ name: act.debugs, runsMs: 300 }, false)
    await client.patch(Pod, place, { metadata: { annotations } })
    const { name: debuggerName, image, command } = container
    const ephemeral = { name: debuggerName, image, ...(command === undefined ? {} : { command }) }
    await client.patch(Pod, place, { spec: { ephemeralContainers: [ephemeral] } }, { subresource: 'ephemeralcontainers' })
  } else if ('killsSandbox' in act) {
    await stage.killSandbox(uid)
  } else if ('started' in act) {
    if (!isRough) assert.deepEqual(record.started(uid), act.started)
  } else if ('asked' in act) {
    if (!isRough) assert.deepEqual(record.stopped(uid), act.asked)
  } else {
    if (isRough) return
    let texts: string[] = []
    const areRecorded = await stage.passes(10_000 * (stage.patience ?? 1), async () => {
      const { items } = await client.list(Event, { namespace })
      texts = items.filter(({ involvedObject }) => involvedObject.uid === uid).map(({ reason, message }) => `${reason} ${message}`)
      return act.events.every((wanted) => texts.some((text) => text.startsWith(wanted)))
    })
    assert.ok(areRecorded, `recorded were: ${texts.join(' | ')}`)
  }
}

async function resize({ stage, name }: Play, { container, resources }: Resize): Promise<void> {
  const { client, namespace } = stage
  const pod = await client.get(Pod, namespace, name)
  const containers = pod.spec.containers.map((each) => (each.name === container ? { ...each, resources } : each))
  await client.patch(Pod, { namespace, name }, { spec: { containers } }, { subresource: 'resize' })
}

async function occupy({ stage, name }: Play, requests: Record<string, string>): Promise<void> {
  const { client, namespace } = stage
  const place = { namespace, name: `beside-${name}` }
  if (Object.keys(requests).length === 0) {
    await client.delete(Pod, place, { gracePeriodSeconds: 1 })
    return
  }
  const { container, annotations = {} } = stage.actor({ name: 'app', resources: { requests } }, false)
  await client.create(Pod, { metadata: { ...place, annotations }, spec: { nodeName: 'n1', containers: [container] } })
  await perform({ until: { phase: 'Running' } }, { stage, name: place.name, uid: '', deletedMs: undefined })
}

async function find({ client, namespace }: Stage, name: string): Promise<V1Pod | undefined> {
  return client.get(Pod, namespace, name).catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
}

function differences(wanted: Expectation, pod: V1Pod | undefined): string[] {
  if (wanted.gone) return pod === undefined ? [] : ['it is still there']
  if (pod === undefined) return ['there is no such pod']
  const { status = {} } = pod
  const found: string[] = []
  const compare = (what: string, is: unknown, shall: unknown) => {
    if (is !== shall) found.push(`${what} is ${is}, not ${shall}`)
  }
  const condition = (type: string) => status.conditions?.find((each) => each.type === type)
  if (wanted.phase !== undefined) compare('phase', status.phase, wanted.phase)
  if (wanted.reason !== undefined) compare('reason', status.reason, wanted.reason)
  if (wanted.ready !== undefined) compare('ready', condition('Ready')?.status === 'True', wanted.ready)
  for (const [name, state] of Object.entries(wanted.states ?? {})) {
    const is = stateText(statusOf(pod, name)?.state)
    if (!state.split(' or ').includes(is)) found.push(`${name} is ${is}, not ${state}`)
  }
  for (const [name, state] of Object.entries(wanted.lately ?? {}))
    compare(`${name} lately`, stateText(statusOf(pod, name)?.lastState), state)
  for (const [name, count] of Object.entries(wanted.restarts ?? {}))
    compare(`restarts of ${name}`, statusOf(pod, name)?.restartCount, count)
  for (const [name, count] of Object.entries(wanted.restartsOver ?? {})) {
    compare(`restarts of ${name} over ${count}`, (statusOf(pod, name)?.restartCount ?? 0) >= count, true)
  }
  for (const [type, expected] of Object.entries(wanted.conditions ?? {})) compare(type, conditionText(condition(type), expected), expected)
  for (const [name, resources] of Object.entries(wanted.allocated ?? {})) {
    for (const [resource, amount] of Object.entries(resources)) {
      const is = statusOf(pod, name)?.allocatedResources?.[resource]
      if (is === undefined || compareQuantities(is, amount) !== 0) found.push(`${name} has ${is} of ${resource}, not ${amount}`)
    }
  }
  return found
}

function statusOf({ status }: V1Pod, name: string): V1ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {}
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].find((each) => each.name === name)
}

function stateText(state: V1ContainerStatus['state']): string {
  if (state?.waiting) return `waiting ${state.waiting.reason}`
  if (state?.terminated) return `exited ${state.terminated.exitCode}`
  return state?.running ? 'running' : 'nothing'
}

function conditionText(condition: V1PodCondition | undefined, like: string): string {
  if (condition === undefined) return 'absent'
  return like.includes(':') ? `${condition.status}:${condition.reason ?? ''}` : condition.status
}

function summary(pod: V1Pod | undefined): string {
  if (pod === undefined) return 'no pod'
  const { phase, reason, initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {}
  const states = [...initContainerStatuses, ...containerStatuses].map(
    ({ name, state, restartCount }) => `${name} ${stateText(state)} (${restartCount}): ${state?.waiting?.message ?? ''}`,
  )
  return `${phase} ${reason ?? ''} [${states.join(', ')}]`
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrpcError, type GrpcReceiver, grpcCodes } from '#base/grpc.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { CriEvents, type CriEventsOptions } from '#kubelet/runtimes/cri/cri-events.ts'
import { podLabel } from '#kubelet/runtimes/cri/labels.ts'
import { describeMessages, encodeMessage } from '#wire/protobuf-messages.ts'

type Client = CriEventsOptions['client']

/** A runtime with containers of one pod each, that can be made to tell, and to go away. */
function aRuntime(offers: { criEvents: boolean; containerdEvents: boolean }) {
  const clock = new VirtualClock()
  const containers = new Map<string, { state: number; pod: string; reason?: string }>()
  const emitted: string[] = []
  const observed = new Map<string, string>()
  const returns: number[] = []
  const forgotten: string[] = []
  let isAway = false
  let lists = 0
  let criStream: ((pod: string) => void) | undefined
  let containerdStream: GrpcReceiver | undefined
  const away = () => new GrpcError(grpcCodes.unavailable, 'away')
  const labelsOf = (pod: string) => ({ [podLabel.uid]: pod })
  const answers: Record<string, (request: { containerId?: string }) => object> = {
    listPodSandbox: () => ({ items: [] }),
    listContainers() {
      lists++
      return { containers: [...containers].map(([id, { state, pod }]) => ({ id, state, labels: labelsOf(pod) })) }
    },
    containerStatus({ containerId = '' }) {
      const found = containers.get(containerId)
      if (found === undefined) throw new GrpcError(grpcCodes.notFound, 'not found')
      return { status: { state: found.state, reason: found.reason, labels: labelsOf(found.pod) } }
    },
    podSandboxStatus() {
      throw new GrpcError(grpcCodes.notFound, 'not found')
    },
  }
  const endings = new Set<(error: GrpcError | undefined) => void>()
  const stream = (isOffered: boolean, onEnd: (error: GrpcError | undefined) => void) => {
    if (isAway) clock.soon(() => onEnd(away()))
    else if (!isOffered) clock.soon(() => onEnd(new GrpcError(grpcCodes.unimplemented, 'unknown method')))
    else endings.add(onEnd)
    return { send() {}, end() {}, cancel: () => void endings.delete(onEnd) }
  }
  const client = {
    async call(name: string, request: { containerId?: string }) {
      await clock.sleep(1)
      if (isAway) throw away()
      return answers[name]?.(request)
    },
    containerEvents(onEvent: (event: object) => void, onEnd: (error: GrpcError | undefined) => void) {
      criStream = (pod) => onEvent({ podSandboxStatus: { metadata: { uid: pod } } })
      return stream(offers.criEvents, onEnd)
    },
    channel: {
      stream(_: string, receiver: GrpcReceiver) {
        containerdStream = receiver
        return stream(offers.containerdEvents, receiver.onEnd)
      },
    },
  } as unknown as Client
  const events = new CriEvents({
    client,
    clock,
    logger: silentLogger,
    emit: (pod) => void emitted.push(pod),
    lastObserved: (pod) => observed.get(pod),
    forgetContainer: (id) => void forgotten.push(id),
    onBack: () => void returns.push(clock.now()),
  })
  return {
    ...{ clock, containers, emitted, observed, returns, forgotten, events },
    lists: () => lists,
    tellCri: (pod: string) => criStream?.(pod),
    tellContainerd: (id: string, processId: string) => containerdStream?.onMessage(taskEvent('/tasks/exit', id, processId)),
    tellOutOfMemory: (id: string) => containerdStream?.onMessage(taskEvent('/tasks/oom', id, '')),
    setAway(value: boolean) {
      isAway = value
      if (!value) return
      for (const onEnd of [...endings]) onEnd(away())
      endings.clear()
    },
  }
}

const messages = describeMessages({
  Any: 'typeUrl:1:string value:2:bytes',
  Envelope: 'namespace:2:string topic:3:string event:4:Any',
  Exit: 'containerId:1:string id:2:string',
})

function taskEvent(topic: string, containerId: string, id: string): Uint8Array {
  const value = encodeMessage(messages.Exit, { containerId, id })
  return encodeMessage(messages.Envelope, { namespace: 'k8s.io', topic, event: { typeUrl: 'x', value } })
}

test('what the runtime tells is passed on, and lists are rare', async () => {
  const runtime = aRuntime({ criEvents: true, containerdEvents: false })
  runtime.events.start()
  await runtime.clock.advance({ seconds: 1 })
  runtime.tellCri('a')
  assert.deepEqual(runtime.emitted, ['a'])
  await runtime.clock.advance({ minutes: 10 })
  assert.ok(runtime.lists() <= 11, `${runtime.lists()} lists`)
  runtime.events.stop()
  await runtime.clock.advance({ minutes: 10 })
  assert.equal(runtime.clock.pending, 0)
})

test("containerd's own events serve where CRI's do not, once CRI knows as well", async () => {
  const runtime = aRuntime({ criEvents: false, containerdEvents: true })
  runtime.containers.set('c1', { state: 1, pod: 'a' })
  runtime.events.start()
  await runtime.clock.advance({ seconds: 1 })
  runtime.tellContainerd('c1', 'exec-7')
  await runtime.clock.advance({ seconds: 2 })
  assert.deepEqual(runtime.emitted, [], 'the end of a command in it')
  runtime.tellContainerd('c1', 'c1')
  await runtime.clock.advance(25)
  assert.deepEqual(runtime.emitted, [], 'still running, as CRI knows')
  runtime.containers.set('c1', { state: 2, pod: 'a' })
  await runtime.clock.advance(100)
  assert.deepEqual(runtime.emitted, ['a'])
  runtime.events.stop()
})

test('that a container was out of memory counts though its end was told of first', async () => {
  const runtime = aRuntime({ criEvents: false, containerdEvents: true })
  runtime.containers.set('c1', { state: 2, pod: 'a', reason: 'Error' })
  runtime.events.start()
  await runtime.clock.advance({ seconds: 1 })
  runtime.tellContainerd('c1', 'c1')
  await runtime.clock.advance(25)
  assert.deepEqual([runtime.emitted.splice(0), runtime.forgotten], [['a'], []])
  runtime.tellOutOfMemory('c1')
  await runtime.clock.advance(25)
  assert.deepEqual(runtime.emitted, [], 'CRI does not know the reason yet')
  runtime.containers.set('c1', { state: 2, pod: 'a', reason: 'OOMKilled' })
  await runtime.clock.advance(100)
  assert.deepEqual([runtime.emitted, runtime.forgotten], [['a'], ['c1']])
  runtime.events.stop()
})

test('without any events, a list each second finds what has changed', async () => {
  const runtime = aRuntime({ criEvents: false, containerdEvents: false })
  runtime.containers.set('c1', { state: 1, pod: 'a' }).set('c2', { state: 1, pod: 'b' })
  runtime.events.start()
  await runtime.clock.advance({ seconds: 5 })
  assert.deepEqual(runtime.emitted, [])
  runtime.containers.set('c1', { state: 2, pod: 'a' })
  await runtime.clock.advance({ seconds: 1.1 })
  assert.deepEqual(runtime.emitted.splice(0), ['a'])
  runtime.containers.delete('c2')
  await runtime.clock.advance({ seconds: 1.1 })
  assert.deepEqual(runtime.emitted, ['b'])
  runtime.events.stop()
})

test('events that were lost are made up for by the slow list', async () => {
  const runtime = aRuntime({ criEvents: true, containerdEvents: false })
  runtime.containers.set('c1', { state: 1, pod: 'a' })
  runtime.events.start()
  await runtime.clock.advance({ seconds: 1 })
  runtime.containers.set('c1', { state: 2, pod: 'a' })
  await runtime.clock.advance({ seconds: 61 })
  assert.deepEqual(runtime.emitted, ['a'])
  runtime.events.stop()
})

test('what the agent has looked at itself since the last list is not told again', async () => {
  const runtime = aRuntime({ criEvents: true, containerdEvents: false })
  runtime.events.start()
  await runtime.clock.advance({ seconds: 5 })
  runtime.containers.set('c1', { state: 1, pod: 'a' }).set('c2', { state: 1, pod: 'b' }).set('c3', { state: 1, pod: 'c' })
  runtime.observed.set('a', 'c1=1').set('b', 'c2=0')
  await runtime.clock.advance({ minutes: 1 })
  assert.deepEqual(runtime.emitted.splice(0), ['b', 'c'], 'one was in another state, one nobody has looked at')
  runtime.containers.delete('c1')
  await runtime.clock.advance({ minutes: 1 })
  assert.deepEqual(runtime.emitted.splice(0), ['a'], 'it is gone')
  runtime.events.stop()
})

test('what happened while the runtime was away is told when it is back', async () => {
  const runtime = aRuntime({ criEvents: true, containerdEvents: false })
  runtime.containers.set('c1', { state: 1, pod: 'a' })
  runtime.events.start()
  await runtime.clock.advance({ seconds: 5 })
  runtime.setAway(true)
  await runtime.clock.advance({ minutes: 5 })
  runtime.containers.set('c1', { state: 2, pod: 'a' })
  runtime.setAway(false)
  await runtime.clock.advance({ seconds: 2.5 })
  assert.deepEqual(runtime.emitted.splice(0), ['a'])
  assert.equal(runtime.returns.length, 1)
  runtime.tellCri('a')
  assert.deepEqual(runtime.emitted, ['a'])
  runtime.events.stop()
})

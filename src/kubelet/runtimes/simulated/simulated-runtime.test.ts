import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { emptyContainerPlan } from '#kubelet/runtimes/plans.ts'
import type { ObservedContainer } from '#kubelet/runtimes/runtime.ts'
import { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'

const { signal } = new AbortController()

/** A container that runs as the annotations say. */
async function running(annotations: Record<string, string>, container: Partial<V1Container> = {}) {
  const clock = new VirtualClock()
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), addresses: new AddressRange('100.64.0') })
  const scripted = Object.fromEntries(Object.entries(annotations).map(([name, value]) => [`sim.typernetes.dev/${name}`, value]))
  const app: V1Container = { name: 'app', image: 'app:1', ...container }
  const pod: V1Pod = { metadata: { name: 'web', uid: 'u1', annotations: scripted }, spec: { containers: [app] } }
  const sandbox = await runtime.runSandbox(pod)
  const id = await runtime.createContainer({ sandboxId: sandbox.id, pod, container: app, attempt: 0, plan: emptyContainerPlan })
  const started = runtime.startContainer(id, signal)
  await clock.advance(50)
  await started
  const look = async () => (await runtime.observe('u1')).containers[0] as ObservedContainer
  return { clock, runtime, id, look }
}

test('what a container writes is made up when it is asked for', async () => {
  const { runtime, clock, id } = await running({ log: 'tick\ntock', 'log-every': '10s' })
  assert.deepEqual(
    runtime.logLines(id).map(({ text }) => text),
    ['tick'],
  )
  await clock.advance(25_000)
  const lines = runtime.logLines(id)
  assert.deepEqual(
    lines.map(({ text }) => text),
    ['tick', 'tock', 'tick'],
  )
  assert.equal((lines[2]?.timeMs ?? 0) - (lines[0]?.timeMs ?? 0), 20_000)
  assert.equal(clock.pending, 0)
})

test('what a container uses rises and falls', async () => {
  const { runtime, clock, id } = await running({ cpu: '100m,500m@1m', memory: '64Mi' })
  await clock.advance(30_000)
  const { cpu = 0, memoryBytes } = runtime.usage(id) ?? {}
  assert.deepEqual([cpu.toFixed(2), memoryBytes], ['0.30', 64 * 2 ** 20])
  await clock.advance(60_000)
  assert.equal(runtime.usage(id)?.cpu, 0.5)
})

test('a container that comes to use more memory than it may is killed', async () => {
  const { clock, look } = await running({ memory: '0,100Mi@100s' }, { resources: { limits: { memory: '50Mi' } } })
  await clock.advance(49_000)
  assert.equal((await look()).state, 'running')
  await clock.advance(2000)
  const { exitCode, reason } = await look()
  assert.deepEqual([exitCode, reason], [137, 'OOMKilled'])
})

test('probes find out what the script says', async () => {
  const { runtime, clock, look } = await running({
    ...{ liveness: 'fail-after 20s', readiness: 'fail-after 5s, pass-after 9s', startup: 'pass-after 2s' },
  })
  let news = 0
  runtime.onResult(() => news++)
  const found = async () => {
    const container = await look()
    return [runtime.isStarted(container), runtime.isReady(container), runtime.failed(container)]
  }
  assert.deepEqual(await found(), [false, false, undefined])
  await clock.advance(2000)
  assert.deepEqual(await found(), [true, true, undefined])
  await clock.advance(4000)
  assert.deepEqual(await found(), [true, false, undefined])
  await clock.advance(4000)
  assert.deepEqual(await found(), [true, true, undefined])
  await clock.advance(10_000)
  assert.deepEqual(await found(), [true, true, 'liveness'])
  assert.equal(news, 4)
})

test('scripts that make no sense are refused', async () => {
  for (const annotations of [{ liveness: 'sometimes' }, { cpu: 'much' }, { 'exit-code': '300' }, { memory: '1Gi@soon' }]) {
    await assert.rejects(running(annotations), /^Error: annotation sim\.typernetes\.dev\//)
  }
})

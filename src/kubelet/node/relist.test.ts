import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Relist } from '#kubelet/node/relist.ts'
import { noRuntimeHelper } from '#kubelet/pod-worker/runtime-helper.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

test('pods are looked at when their states are others than at the last list, unless somebody has looked since', async () => {
  const clock = new VirtualClock()
  const states = new Map([['a', 'c1=1']])
  const observed = new Map<string, string>()
  const looked: string[] = []
  const runtime = { snapshot: async () => new Map(states), lastObserved: (uid: string) => observed.get(uid) } as unknown as Runtime
  using relist = new Relist({
    ...{ runtime, runtimeHelper: noRuntimeHelper, clock, logger: silentLogger, everyMs: 1000 },
    isKnown: () => true,
    known: () => ['a', 'b'],
    look: (uid) => void looked.push(uid),
  })
  relist.start()
  await clock.advance(500)
  assert.deepEqual(looked.splice(0), ['a'])
  observed.set('b', 'c2=1')
  states.set('b', 'c2=1')
  await clock.advance(1000)
  assert.deepEqual(looked.splice(0), [], 'the agent has started it itself, and seen it run')
  states.set('b', 'c2=2')
  await clock.advance(1000)
  assert.deepEqual(looked.splice(0), ['b'])
  states.delete('b')
  await clock.advance(1000)
  assert.deepEqual(looked.splice(0), ['b'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { MountableVolumes } from '#kubelet/volumes/mountable/mountable-volumes.ts'
import { volumeMetrics } from '#kubelet/volumes/mountable/volume-metrics.ts'

test('a volume that does not answer is not asked again before it has', async () => {
  const clock = new VirtualClock()
  const records = [{ plugin: 'nfs', target: '/dead', claim: { namespace: 'default', name: 'c' }, isBlock: false }]
  const volumes = { records: { all: () => records }, pluginNamed: () => undefined } as unknown as MountableVolumes
  const facts = { capacityBytes: 1, availableBytes: 1, usedBytes: 0, inodes: 1, inodesFree: 1, inodesUsed: 0 }
  let asked = 0
  let answer = Promise.withResolvers<typeof facts>()
  const fileSystem = () => {
    asked++
    return answer.promise
  }
  const metrics = volumeMetrics({ volumes, host: { fileSystem }, clock })
  const look = async () => {
    const text = metrics()
    await clock.advance({ seconds: 61 })
    return text
  }
  for (let round = 0; round < 5; round++) assert.equal(await look(), '')
  assert.equal(asked, 1)
  answer.resolve(facts)
  answer = Promise.withResolvers()
  answer.resolve(facts)
  await clock.settle()
  assert.match(await look(), /capacity_bytes\{namespace="default",persistentvolumeclaim="c"\} 1/)
  assert.equal(asked, 2)
})

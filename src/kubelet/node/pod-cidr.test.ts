import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import { podCidrTeller } from '#kubelet/node/pod-cidr.ts'

test('the runtime is told the pod CIDRs once, and again when it did not listen', async () => {
  const told: string[] = []
  let isDown = true
  const sees = podCidrTeller(
    {
      setPodCidr: async (podCidr) => {
        told.push(podCidr)
        if (isDown) throw new Error('unavailable')
      },
    },
    silentLogger,
  )
  const node = { metadata: { name: 'n1' }, spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24', 'fd00::/64'] } }
  sees({ metadata: { name: 'n1' }, spec: {} })
  sees(node)
  await Promise.resolve()
  isDown = false
  await new Promise(setImmediate)
  sees(node)
  sees(node)
  await Promise.resolve()
  assert.deepEqual(told, ['10.244.1.0/24,fd00::/64', '10.244.1.0/24,fd00::/64'])
})
